// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/server/broadcast.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "calls/server/broadcast_part.hpp"
#include "calls/server/peer_place.hpp"
#include "weft/detail/base/assert.hpp"

namespace weft::detail {

namespace {

/// Charge of a call to one peer: its record, and its slot in the table of its connection.
constexpr std::size_t kCallBytes = sizeof(BroadcastCall) + 32;
/// Turns in succession for which a broadcast without memory waits until its queued requests have left. The
/// first may be the rest of a turn that has not sent anything yet.
constexpr int kTurnsWithoutMemoryMax = 2;

constexpr FixedFailure kNoMemoryForBroadcast{
    StatusCode::kResourceExhausted, Layer::kRpc, Retry::kBackoff,
    "the server's memory (process_memory_max) has no room for the arguments of a broadcast"};

/// A broadcast on its way to one loop.
class BroadcastWork final : public PeerWork {
 public:
  explicit BroadcastWork(std::unique_ptr<Broadcast::Share> share) noexcept : share_(std::move(share)) {}

  void run(PeerPlace& place) override {
    try {
      auto part = std::make_unique<BroadcastPart>(place.loop());
      BroadcastPart& kept = *part;
      place.keep(std::move(part));
      kept.run(std::move(share_), place);
    } catch (const std::bad_alloc&) {
      share_->outcome.failed += place.count();
    }
  }

 private:
  std::unique_ptr<Broadcast::Share> share_;
};

}  // namespace

/// The way back to the coroutine that waits; keeps the broadcast meanwhile.
class Broadcast::Return final : public Posted {
 public:
  void send(std::shared_ptr<Broadcast> whole) noexcept {
    const std::shared_ptr<Mailbox> home = whole->home_mailbox_;
    whole_ = std::move(whole);
    home->post(*this);
  }
  void run() override {
    const std::shared_ptr<Broadcast> whole = std::move(whole_);
    if (whole->waiter_ != nullptr) whole->home_->schedule(*std::exchange(whole->waiter_, nullptr));
  }
  void drop() noexcept override { const std::shared_ptr<Broadcast> whole = std::move(whole_); }

 private:
  std::shared_ptr<Broadcast> whole_;
};

Broadcast::Broadcast(const MethodKey& method, const BroadcastOptions& options, std::vector<std::byte> body)
    : method_(method), tag_(options.tag), options_(options), body_(std::move(body)) {
  options_.tag = tag_;
}

Broadcast::~Broadcast() {
  if (memory_ != nullptr) memory_->release(body_.size());
}

Status Broadcast::begin(const PeerBoard& board, Loop& home, Ready& waiter, Deadline deadline) {
  std::shared_ptr<MemoryBudget> memory = board.memory();
  if (memory != nullptr) {
    if (!memory->try_reserve(body_.size())) return Status::of<kNoMemoryForBroadcast>();
    memory_ = std::move(memory);
  }
  const Duration left = deadline.is_infinite() ? Duration::max() : deadline.remaining(home.now());
  options_.timeout = std::min(options_.timeout, left);
  return_ = std::make_unique<Return>();
  home_ = &home;
  home_mailbox_ = home.mailbox();
  waiter_ = &waiter;
  // One more share than loops: the completion is not reported before all loops have their shares.
  const Share own{shared_from_this()};
  try {
    board.on_each_loop(
        [this] { return std::make_unique<BroadcastWork>(std::make_unique<Share>(shared_from_this())); });
  } catch (...) {
    waiter_ = nullptr;
    throw;
  }
  return {};
}

void Broadcast::add(const BroadcastOutcome& of_loop) noexcept {
  {
    const std::lock_guard lock(mutex_);
    outcome_.answered += of_loop.answered;
    outcome_.failed += of_loop.failed;
    outcome_.behind += of_loop.behind;
    outcome_.silent += of_loop.silent;
  }
  if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) return_->send(shared_from_this());
}

bool BroadcastAwaiter::begin(CancelScope* scope) noexcept {
  home_ = Loop::current();
  WEFT_ASSERT(home_ != nullptr, "a broadcast is awaited inside a turn of a Loop");
  if (scope != nullptr && scope->cancelled()) {
    failure_ = to_status(scope->reason());
    return false;
  }
  try {
    failure_ =
        broadcast_->begin(*board_, *home_, resumption_, scope != nullptr ? scope->deadline() : Deadline{});
    if (!failure_.ok()) return false;
  } catch (const std::bad_alloc&) {
    failure_ = Status::of<kOutOfMemory>();
    return false;
  }
  if (scope != nullptr) scope->add(*this);
  return true;
}

void BroadcastAwaiter::on_cancel(CancelReason reason) noexcept {
  if (resumption_.is_scheduled()) return;
  broadcast_->forget_waiter();
  failure_ = to_status(reason);
  home_->schedule(resumption_);
}

BroadcastCall::BroadcastCall(BroadcastPart& part, Session& session, bool awaited)
    : PendingCall(part, part.whole().method(), nullptr), part_(part), session_(session), awaited_(awaited) {}

void BroadcastCall::send(Deadline deadline) noexcept {
  set_waiter(&ended_);
  limit(deadline);
  begin_waiting(session_.calls_out());
}

// Only its deadline cancels it.
void BroadcastCall::on_cancel(CancelReason reason) noexcept {
  session_.seat().fell_silent(session_.calls_out().table().ended());
  PendingCall::on_cancel(reason);
}

std::size_t BroadcastCall::body_bytes() const {
  return part_.whole().body().size();
}

void BroadcastCall::encode_body(std::byte* to) const {
  const std::vector<std::byte>& body = part_.whole().body();
  if (!body.empty()) std::memcpy(to, body.data(), body.size());
}

void BroadcastCall::Ended::run(Ready* node) noexcept {
  BroadcastCall& call = static_cast<Ended*>(node)->call;
  call.part_.call_ended(call, call.take_failure().ok());
}

// The outcome of calls that have not ended will not be known: they count as failed.
BroadcastPart::~BroadcastPart() {
  if (share_ != nullptr) share_->outcome.failed += awaited_;
  calls_.clear();
  if (process_ != nullptr) process_->release(charged_);
}

Begun BroadcastPart::begin_without_session(PendingCall& call, std::size_t) {
  return call.refuse(Status::of<kOutOfMemory>());  // each call is sent to its own session
}

void BroadcastPart::run(std::unique_ptr<Broadcast::Share> share, PeerPlace& place) noexcept {
  share_ = std::move(share);
  whole_ = share_->whole;
  deadline_ = Deadline::after(loop().read_clock(), whole().options().timeout);
  place.begin(*this);
  call_more();
}

void BroadcastPart::call_more() noexcept {
  TurnTime& turn = loop().turn_time();
  while (Session* session = next()) {
    if (is_addressed(*session) && !call(*session)) {
      if (waits_for_memory()) {
        meet_again(*session);
        return turn.put_off(*this);
      }
      ++share_->outcome.failed;
    }
    turn.did(1);
    if (turn.is_old() && has_next()) return turn.put_off(*this);
  }
  PeerWalk::unlink();  // the answers may take long, and later leavers no longer matter
  has_called_all_ = true;
  end_if_complete();
}

// The requests of this turn hold a chunk each until the end of it, when most of them leave.
bool BroadcastPart::waits_for_memory() noexcept {
  return turns_without_memory_++ < kTurnsWithoutMemoryMax;
}

void BroadcastPart::end_if_complete() noexcept {
  if (!has_called_all_) return;
  if (awaited_ == 0) share_.reset();
  if (running_ == 0) delete this;
}

void BroadcastPart::on_missed(Session& session) noexcept {
  if (is_addressed(session)) ++share_->outcome.failed;
}

bool BroadcastPart::is_addressed(Session& session) const {
  const std::string_view tag = whole().options().tag;
  if (tag.empty()) return true;
  const std::shared_ptr<PeerTarget>& peer = session.seat().target();
  return peer != nullptr && peer->tag() == tag;
}

bool BroadcastPart::is_behind(Session& session) const {
  const BroadcastOptions& options = whole().options();
  return !session.has_room() || session.calls_out().awaited() > options.unanswered_max ||
         session.connection().outbox().queued_bytes() > options.queued_bytes_max;
}

bool BroadcastPart::charge(Session& session) noexcept {
  LocalBudget& process = session.memory();
  if (!process.try_reserve(kCallBytes)) return false;
  if (!session.output().charge_first_chunk()) {
    process.release(kCallBytes);
    return false;
  }
  process_ = &process;
  charged_ += kCallBytes;
  return true;
}

// A peer that has not answered an earlier call in time may only be slow: the broadcast calls it, without
// delay for the outcome.
bool BroadcastPart::call(Session& session) {
  // Of a connection that is going, and of a broadcast whose time is over, no call could end well.
  if (!session.ready() || deadline_.expired(loop().now())) {
    ++share_->outcome.failed;
    return true;
  }
  const BroadcastOptions& options = whole().options();
  if (is_behind(session)) {
    ++share_->outcome.behind;
    if (options.closes_who_is_behind) {
      session.close_with_goaway(
          {StatusCode::kResourceExhausted, Layer::kRpc, "the peer does not keep up with what is broadcast"});
    }
    return true;
  }
  if (!charge(session)) return false;
  turns_without_memory_ = 0;
  const bool awaited = !session.seat().is_silent(session.calls_out().table().ended());
  try {
    calls_.emplace_back(*this, session, awaited);
  } catch (const std::bad_alloc&) {
    session.output().give_back_unused();
    ++share_->outcome.failed;
    return true;
  }
  ++running_;
  ++(awaited ? awaited_ : share_->outcome.silent);
  calls_.back().send(deadline_);
  return true;
}

void BroadcastPart::call_ended(const BroadcastCall& call, bool succeeded) noexcept {
  --running_;
  if (call.is_awaited()) {
    --awaited_;
    ++(succeeded ? share_->outcome.answered : share_->outcome.failed);
  }
  end_if_complete();
}

}  // namespace weft::detail
