// SPDX-License-Identifier: Apache-2.0
#include "calls/landing/incoming_transfer.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "calls/landing/arriving_calls.hpp"
#include "weft/detail/base/assert.hpp"
#include "weft/detail/calls/gate/call_envelope.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft::detail {

namespace {

constexpr FixedFailure kConnectionLost{StatusCode::kUnavailable, Layer::kRpc, Retry::kNever,
                                       "the connection ended before the request's attachment was there"};
constexpr FixedFailure kNotWaitedFor{StatusCode::kCancelled, Layer::kRpc, Retry::kNever,
                                     "the handler stopped waiting for the request's attachment"};

/// A large copy takes many turns, so that the loop's other connections and its timers go on meanwhile.
constexpr std::size_t kCopiedInATurn = std::size_t{1} << 20;

}  // namespace

void DropIncoming::operator()(IncomingTransfer* transfer) const noexcept {
  delete transfer;
}

IncomingTransfer::Copying::Copying(IncomingTransfer& its) noexcept
    : Ready([](Ready* node) noexcept { static_cast<Copying*>(node)->transfer.go_on_copying(); }),
      transfer(its) {}

IncomingTransfer::IncomingTransfer(ArrivingCalls& calls, std::uint64_t id, std::size_t bytes,
                                   Way way) noexcept
    : ArrivingAttachment(calls, id, bytes, Deadline{}), arriving_(&calls), loop_(calls.loop()), way_(way) {}

IncomingTransfer::IncomingTransfer(ArrivingCalls& calls, std::uint64_t id, Buffer attachment) noexcept
    : ArrivingAttachment(calls, id, attachment.size(), Deadline{}, attachment.size()),
      arriving_(&calls),
      loop_(calls.loop()),
      whole_(std::move(attachment)),
      way_(Way::kThere),
      ended_(true) {}

IncomingTransfer::~IncomingTransfer() {
  stop_waiting();
  if (arriving_ != nullptr && held_ != 0) arriving_->admission().release(held_);
}

bool IncomingTransfer::begin(const LandingView& memory, CancelScope* scope, Ready& waiter,
                             TransferProgress* progress) noexcept {
  WEFT_ASSERT(can_begin(), "an attachment is received once");
  begun_ = true;
  has_chosen_ = !memory.empty();
  chosen_ = RunCursor<std::byte>{memory};
  if (progress != nullptr) waiter_.count_with(*progress, bytes(), loop_);
  if (!has_chosen_) waiter_.landed(received());
  if (ended_ && (!failure_.ok() || !has_chosen_ || copy_some())) {
    // A progress is notified of the whole attachment before the wait ends, in a turn of the loop.
    const bool waits = waiter_.counts();
    if (waits) waiter_.wait(waiter);
    waiter_.end(loop_);
    return waits;
  }
  if (scope != nullptr && scope->cancelled()) {
    on_cancel(scope->reason());
    if (ended_) return false;
    waiter_.wait(waiter);  // a device still writes to the server's memory
    return true;
  }
  if (ended_) {
    ended_ = false;
    loop_.turn_time().put_off(copying_);
  }
  if (way_ == Way::kAsked) {
    Status failure = has_chosen_ ? Status{} : make_own();
    if (failure.ok()) failure = arriving_->ask_for(*this);
    if (!failure.ok()) {
      end(std::move(failure));
      return false;
    }
  }
  if (scope != nullptr) scope->add(*this);
  waiter_.wait(waiter);
  return true;
}

Status IncomingTransfer::take_outcome() noexcept {
  waiter_.stop_waiting();
  return std::move(failure_);
}

Result<Buffer> IncomingTransfer::take_buffer() noexcept {
  waiter_.stop_waiting();
  if (!failure_.ok()) return std::move(failure_);
  return std::move(whole_);
}

void IncomingTransfer::stop_waiting() noexcept {
  waiter_.stop_waiting();
  if (ended_) return;
  if (whole_.empty()) arriving_->remove(*this);
  end(Status::of<kNotWaitedFor>());
}

bool IncomingTransfer::lands() noexcept {
  if (ended_) return false;
  if (has_chosen_) return true;
  Status failure = make_own();
  if (failure.ok()) return true;
  end(std::move(failure));
  return false;
}

void IncomingTransfer::on_connection_lost() noexcept {
  if (!ended_ && whole_.empty()) end(Status::of<kConnectionLost>());
  arriving_ = nullptr;
}

Landing IncomingTransfer::place(std::size_t bytes) noexcept {
  if (own_.empty()) return Landing::into(chosen_, bytes);
  return Landing::into(own_.mutable_bytes().subspan(received(), bytes));
}

void IncomingTransfer::on_landed(std::size_t bytes) noexcept {
  if (own_.empty()) chosen_.advance(bytes);
  // Bytes that are still to be copied to the handler's memory count when they are.
  if (own_.empty() || !has_chosen_) waiter_.landed(bytes);
}

std::optional<Refusal> IncomingTransfer::charge(std::size_t arrived) noexcept {
  if (own_.empty()) return std::nullopt;
  return arriving_->admission().charge_arriving(own_, arrived);
}

void IncomingTransfer::on_whole() {
  if (!own_.empty()) {
    Result<Buffer> whole = std::exchange(own_, {}).take();
    if (!whole.ok()) return end(std::move(whole).status());
    whole_ = *std::move(whole);
    // Until now it counted as announced, and its arrived part was checked against the limits piece by piece.
    held_ = bytes();
    arriving_->admission().hold(held_);
    if (has_chosen_) return go_on_copying();
  }
  end({});
}

void IncomingTransfer::on_given_up() {
  end(to_status(cancelled_));
}

void IncomingTransfer::on_lost() noexcept {
  end(Status::of<kConnectionLost>());
}

void IncomingTransfer::on_cancel(CancelReason reason) noexcept {
  cancelled_ = reason;
  if (!whole_.empty()) return on_given_up();  // it is being copied, and no device writes to it
  arriving_->give_up(*this);
}

Status IncomingTransfer::make_own() noexcept {
  Result<ArrivingBuffer> memory = arriving_->landing_memory(bytes());
  if (!memory.ok()) return std::move(memory).status();
  own_ = *std::move(memory);
  return {};
}

// Copies what may be copied in one turn. True when that is the rest.
bool IncomingTransfer::copy_some() noexcept {
  const std::size_t part = std::min(whole_.size() - copied_, kCopiedInATurn);
  const std::byte* from = whole_.data() + copied_;
  chosen_.take(part, [&from](MutableBytes run) {
    std::memcpy(run.data(), from, run.size());
    from += run.size();
  });
  copied_ += part;
  waiter_.landed(part);
  if (copied_ < whole_.size()) return false;
  whole_ = Buffer{};
  return true;
}

void IncomingTransfer::go_on_copying() noexcept {
  if (copy_some()) return end({});
  loop_.turn_time().put_off(copying_);
}

void IncomingTransfer::end(Status failure) noexcept {
  ended_ = true;
  failure_ = std::move(failure);
  copying_.unlink();
  if (!failure_.ok()) own_ = {};
  stop_listening();
  waiter_.end(loop_);
}

}  // namespace weft::detail
