// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/threads/stream_errand.hpp"

#include <chrono>
#include <cstring>

#include "calls/terms/call_status.hpp"
#include "calls/terms/wrong_thread.hpp"
#include "weft/detail/calls/threads/blocked_call.hpp"
#include "weft/detail/calls/threads/errand_time.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft::detail {

namespace {

constexpr FixedFailure kLoopStopped{StatusCode::kCancelled, Layer::kRuntime, Retry::kNever,
                                    "the client's loop was stopped"};
/// Time after its own end at which a stream is given up whose loop does not turn.
constexpr Duration kLoopGrace = std::chrono::seconds{1};
/// Target of metadata without pairs, which tells it from none.
constexpr std::byte kNoPair{};

Status unprocessed(Status failure) noexcept {
  failure.mark_unprocessed();
  return failure;
}

}  // namespace

StreamErrand::StreamErrand(Request request) noexcept
    : door_(std::move(request.door)),
      method_(request.method),
      options_(request.options),
      shown_metadata_(request.options.answer_metadata) {
  if (shown_metadata_ != nullptr) options_.answer_metadata = &answer_metadata_;
  if (options_.timeout == Duration::zero()) options_.timeout = kNoTimeout;
  ErrandTime time{door_->clock(), kNoTimeout, options_};
  deadline_ = time.on_loop(TimePoint{});
  set_callers();
  const Deadline expected = time.expected_by();
  if (!expected.is_infinite()) expect_end_by(Deadline::after(expected.at(), kLoopGrace));
}

StreamErrand::Owner StreamErrand::make(Request request, std::size_t body_bytes, Status& failure) noexcept {
  failure = OpenedStream::check_options(request.options);
  if (!failure.ok()) return nullptr;
  const std::size_t room = ErrandBytes::room_for(body_bytes);
  void* const memory =
      room > ErrandBytes::kBodyMax ? nullptr : ::operator new(sizeof(StreamErrand) + room, std::nothrow);
  if (memory == nullptr) {
    failure = unprocessed(Status::of<kOutOfMemory>());
    return nullptr;
  }
  Owner errand{::new (memory) StreamErrand(std::move(request))};
  errand->bytes_.set_room(static_cast<std::byte*>(memory) + sizeof(StreamErrand), body_bytes);
  if (errand->keep_metadata()) return errand;
  failure = unprocessed(Status::of<kOutOfMemory>());
  return nullptr;
}

// The caller's own may end before the stream does.
bool StreamErrand::keep_metadata() noexcept {
  if (!options_.metadata.is_given()) return true;
  const Bytes its = options_.metadata.bytes();
  if (its.empty()) {
    options_.metadata = MetadataView{Bytes{&kNoPair, 0}};
    return true;
  }
  Result<Buffer> copy = Buffer::try_allocate(its.size());
  if (!copy.ok()) return false;
  metadata_ = std::move(*copy);
  std::memcpy(metadata_.data(), its.data(), its.size());
  options_.metadata = MetadataView{metadata_.bytes()};
  return true;
}

void StreamErrand::send(const std::stop_token& stop) noexcept {
  Mailbox* const mailbox = door_->mailbox().get();
  if (mailbox == nullptr) return conclude(unprocessed(door_->closed()));
  hold();
  if (!mailbox->send(*this)) {
    release();
    refuse();
  }
  if (stop.stop_possible()) stops_.emplace(stop, Stop{this});
}

void StreamErrand::Stop::operator()() const noexcept {
  errand->abandon(to_status(CancelReason::kRequested));
}

bool StreamErrand::may_block() noexcept {
  if (in_child()) return true;  // each of its functions fails there
  const Status misuse = BlockedCall::check_thread(*door_);
  if (misuse.ok()) [[likely]] {
    return true;
  }
  abandon(misuse);
  return false;
}

void StreamErrand::let_go() noexcept {
  if (in_child()) return;  // left to the parent, where others have parts in it
  stops_.reset();
  abandon(to_status(CancelReason::kRequested));
  release();
}

void StreamErrand::release() noexcept {
  if (holders_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  this->~StreamErrand();
  ::operator delete(static_cast<void*>(this));
}

void StreamErrand::post() noexcept {
  Mailbox* const mailbox = door_->mailbox().get();
  if (mailbox == nullptr) return;
  hold();
  mailbox->post(look_);
}

void StreamErrand::Look::run() {
  errand_.take_back_post();
  if (errand_.opened_) errand_.opened_->look();
  errand_.release();
}

void StreamErrand::copy_body(std::byte* to) const noexcept {
  const Bytes body = bytes_.body();
  if (!body.empty()) std::memcpy(to, body.data(), body.size());
}

void StreamErrand::begin() {
  CallTarget* const target = door_->target();
  if (target == nullptr) return conclude(unprocessed(door_->closed()));
  hold();
  door_->mailbox()->keep(*this);
  options_.deadline = options_.deadline.earlier(deadline_);
  try {
    opened_.emplace(*this, *target, options_);
    opened_->start();
  } catch (const std::bad_alloc&) {
    return end(unprocessed(Status::of<kOutOfMemory>()));
  }
  if (opened_->done()) return end_begun();
  opened_->look();
}

void StreamErrand::refuse() noexcept {
  conclude(unprocessed(door_->mailbox()->in_child() ? Status::of<kInChildOfFork>() : loop_failure()));
}

Status StreamErrand::loop_failure() const noexcept {
  Status closed = door_->why_closed();
  return closed.ok() ? Status::of<kLoopStopped>() : closed;
}

void StreamErrand::end_now() noexcept {
  if (opened_->done()) return end_begun();
  end(loop_failure());
}

// Arrived items go to the exchange first, where they can still be read.
void StreamErrand::end_begun() noexcept {
  opened_->look();
  end(Status{opened_->status()});
}

void StreamErrand::end(const Status& failure) noexcept {
  conclude(failure);
  opened_.reset();
  unlink();
  release();
}

StreamErrand::Opened::Opened(StreamErrand& errand, CallTarget& target, const CallOptions& options)
    : OpenedStream(target, *errand.method_, std::make_unique<CallDetails>(options, false)),
      ExchangePump(OpenedStream::side(), errand),
      errand_(errand),
      ended_(errand) {}

void StreamErrand::Opened::start() {
  set_end_waiter(&ended_);
  const Begun begun = OpenedStream::open(body_bytes());
  if (begun.body == nullptr) return;
  errand_.copy_body(begun.body);
  opened(begun);
}

void StreamErrand::Opened::encode_body(std::byte* to) const {
  errand_.copy_body(to);
  const_cast<Opened*>(this)->on_sent();
}

}  // namespace weft::detail
