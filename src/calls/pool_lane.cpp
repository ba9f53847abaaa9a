// SPDX-License-Identifier: Apache-2.0
#include "calls/pool_lane.hpp"

#include <algorithm>
#include <cmath>
#include <new>
#include <utility>

#include "calls/call_path.hpp"

namespace weft::detail {

namespace {

/// How many connections may wait for answers after they were left.
constexpr std::size_t kLeavingMin = 8;

constexpr FixedFailure kTooManyWait{StatusCode::kResourceExhausted, Layer::kRpc, Retry::kBackoff,
                                    "too many calls wait for a connection already (calls_waiting_max)", true};

/// Another attempt may go better.
bool may_pass(const Status& failure) {
  return failure.code() == StatusCode::kUnavailable || failure.code() == StatusCode::kResourceExhausted;
}

/// Between three quarters of `life` and the whole.
Duration jittered(Duration life, std::uint64_t random) {
  const Duration quarter = life / 4;
  if (quarter <= Duration::zero()) return life;
  return life - Duration{static_cast<Duration::rep>(random % static_cast<std::uint64_t>(quarter.count()))};
}

}  // namespace

void PoolShared::back_off(TimePoint now) {
  if (now < quiet_until) return;
  quiet_until = now + reconnect_wait.next(now, connections.loop.random());
}

void PoolShared::came_up(TimePoint now) {
  ++counted.connects;
  in_trouble = false;
  quiet_until = TimePoint{};
  last_failure = Status{};
  reconnect_wait.on_connected(now);
}

Begun PoolLane::begin(PendingCall& call, std::size_t body_bytes) {
  if (waiting_count_ == 0) {
    if (open_ != nullptr && open_->has_room()) return open_->calls_out().begin(call, body_bytes);
    if (PooledConnection* const best = choose()) {
      open(&best->session());
      return best->session().calls_out().begin(call, body_bytes);
    }
  }
  if (waiting_count_ >= shared_.options.client.limits.calls_waiting_max) {
    return call.refuse(Status::of<kTooManyWait>());
  }
  waiting_.push_back(call);
  ++waiting_count_;
  ++shared_.counted.waits;
  open(nullptr);
  work_soon();
  return call.wait();
}

void PoolLane::withdraw(PendingCall& call) noexcept {
  static_cast<ListHook<TargetCallTag>&>(call).unlink();
  --waiting_count_;
}

// Connections go together when a server does: the others are to be heard of before a call is begun on one of
// them, so this waits for the next turn.
void PoolLane::take_again(PendingCall& call) noexcept {
  waiting_.push_back(call);
  ++waiting_count_;
  open(nullptr);
  holds_ = true;
  arm_timer();
}

void PoolLane::add_connect_waiter(ConnectWaiter& waiter) {
  connect_waiters_.add(waiter);
  work_soon();
}

PooledConnection* PoolLane::choose() {
  PooledConnection* best = nullptr;
  up_.for_each([&best](PooledConnection& each) {
    if (each.has_room() && (best == nullptr || each.in_flight() < best->in_flight())) best = &each;
  });
  return best;
}

void PoolLane::open(Session* session) {
  if (open_ == session) return;
  open_ = session;
  owner_.on_open_session(*this, session);
}

void PoolLane::admit() {
  while (waiting_count_ != 0 && !holds_) {
    PooledConnection* const best = choose();
    if (best == nullptr) return;
    Session& session = best->session();
    while (waiting_count_ != 0 && best->has_room()) {
      PendingCall& call = waiting_.pop_front();
      --waiting_count_;
      call.begin_waiting(session.calls_out());
    }
    if (waiting_count_ == 0) open(&session);
  }
}

void PoolLane::on_up(PooledConnection& connection) {
  up_.take(connection, making_);
  shared_.came_up(now());
  Session& session = connection.session();
  const RpcLimits& limits = shared_.options.client.limits;
  const std::uint32_t wanted = shared_.options.calls_per_connection;
  calls_each_ = std::min(limits.calls_in_flight_max,
                         wanted != 0 ? wanted : session.connection().capabilities().calls_shared_max);
  session.calls_out().keep_to_own(calls_each_);
  const Duration life = shared_.options.connection_life_max;
  if (life != Duration::zero()) connection.expire_at(now() + jittered(life, loop().random().next()));
  shared_.refused_carrier.tell(session.connection(), shared_.connections.logger, now());
  if (std::exchange(renewing_, false)) retire_expired();
  connect_waiters_.end({});
  if (look_at_ == TimePoint::max()) {
    look_at_ = now() + shared_.options.spare_idle_timeout;
    arm_timer();
  }
  admit();
  if (waiting_count_ != 0) work_soon();
}

void PoolLane::on_room(PooledConnection&) {
  if (waiting_count_ != 0) [[unlikely]] {
    admit();
  }
}

void PoolLane::on_goaway(PooledConnection& connection) {
  leave(connection);
  if (up_.empty()) shared_.back_off(now());
  work_soon();
}

// The peer that tells each connection to go away and answers nothing there would have us keep them for as
// long as their calls wait.
void PoolLane::leave(PooledConnection& connection) {
  if (open_ == &connection.session()) open(nullptr);
  if (leaving_.count() >= std::max(kLeavingMin, connections_max_)) {
    leaving_.oldest().close(
        {StatusCode::kUnavailable, Layer::kRpc,
         "one connection after the other was told to go away, and this was the oldest that had not ended"});
  }
  leaving_.take(connection, up_);
  if (connection.state() == PooledConnection::State::kUp) connection.leave();
}

void PoolLane::on_over(PooledConnection& connection, const Status& why) {
  using State = PooledConnection::State;
  const State from = connection.ended_from();
  PooledConnections& of = from == State::kMaking ? making_ : from == State::kUp ? up_ : leaving_;
  over_.take(connection, of);
  if (from == State::kMaking) {
    failed_to_connect(why);
  } else if (from == State::kUp) {
    ++shared_.counted.connections_lost;
    if (open_ == &connection.session()) open(nullptr);
    if (up_.empty()) shared_.back_off(now());
  }
  work_soon();
}

void PoolLane::failed_to_connect(const Status& why) {
  ++shared_.counted.connect_failures;
  renewing_ = false;
  shared_.in_trouble = true;
  shared_.last_failure = why;
  shared_.back_off(now());
  connect_waiters_.end(why);
  if (!may_pass(why) || (up_.empty() && !shared_.options.waits_for_ready)) fail_waiting(why);
}

void PoolLane::work_soon() {
  if (!work_.is_scheduled()) loop().schedule(work_);
}

void PoolLane::work() noexcept {
  if (!over_.empty()) {
    over_.for_each([this](PooledConnection& each) {
      if (each.ended_from() != PooledConnection::State::kMaking) count_calls(each);
    });
    over_.clear();
  }
  admit();
  while (is_short() && now() >= shared_.quiet_until) {
    if (shared_.in_trouble && !making_.empty()) break;
    make_one();
    if (shared_.in_trouble) break;
  }
  arm_timer();
}

// As many are made as those who wait need.
bool PoolLane::is_short() const {
  if (renewing_ && making_.empty()) return true;
  const std::size_t there = up_.count() + making_.count();
  if (there >= connections_max_) return false;
  if (!connect_waiters_.empty() && there == 0) return true;
  const bool they_wait_for_it = !holds_ || up_.empty();
  return they_wait_for_it && waiting_count_ > making_.count() * calls_each_;
}

void PoolLane::make_one() {
  try {
    PooledConnectionOwner& owner = *this;
    auto connection =
        std::make_unique<PooledConnection>(shared_.connections, owner, shared_.counted.connects + 1);
    PooledConnection& made = *connection;
    making_.add(std::move(connection));
    made.make();
  } catch (const std::bad_alloc&) {
    failed_to_connect(Status::of<kOutOfMemory>());
  }
}

void PoolLane::on_timer() {
  holds_ = false;
  if (now() >= look_at_) look_after();
  work();
}

// One timer for all: for the attempt that somebody waits for, for the next look, and for calls that begin
// again.
void PoolLane::arm_timer() {
  const bool nothing = up_.empty() && making_.empty();
  if (nothing) look_at_ = TimePoint::max();
  TimePoint next = look_at_;
  if (holds_) next = now();
  if (is_short() && making_.empty()) next = std::min(next, std::max(now(), shared_.quiet_until));
  if (next == TimePoint::max()) return loop().disarm(*this);
  loop().arm(*this, next);
}

void PoolLane::look_after() {
  const PoolOptions& options = shared_.options;
  look_at_ = now() + options.spare_idle_timeout;
  std::size_t busy = 0;
  up_.for_each([&](PooledConnection& each) { busy += each.idle_time(now()) == Duration::zero() ? 1 : 0; });
  const double looks = std::max(1.0, static_cast<double>(options.idle_timeout.count()) /
                                         static_cast<double>(options.spare_idle_timeout.count()));
  usual_ += (static_cast<double>(busy) - usual_) / looks;
  const auto usual = std::max(busy, static_cast<std::size_t>(std::ceil(usual_ - 0.01)));
  if (options.idle_timeout != Duration::zero()) {
    up_.for_each([&](PooledConnection& each) {
      const Duration limit = up_.count() > usual ? options.spare_idle_timeout : options.idle_timeout;
      if (each.in_flight() != 0 || each.idle_time(now()) < limit) return;
      ++shared_.counted.connections_idle;
      leave(each);
    });
  }
  up_.for_each([&](PooledConnection& each) { renewing_ = renewing_ || each.expired(now()); });
}

// Its place is taken, or the attempt for it would not have been told.
void PoolLane::retire_expired() {
  PooledConnection* old = nullptr;
  up_.for_each([&](PooledConnection& each) {
    if (old == nullptr && each.expired(now())) old = &each;
  });
  if (old == nullptr) return;
  ++shared_.counted.connections_renewed;
  leave(*old);
}

void PoolLane::fail_waiting(Status why) noexcept {
  why.mark_unprocessed();  // once for all of them
  while (!waiting_.empty()) {
    PendingCall& call = waiting_.pop_front();
    --waiting_count_;
    call.fail(why);
  }
}

// Once, at its end.
void PoolLane::count_calls(PooledConnection& connection) {
  const CallsOut& calls = connection.session().calls_out();
  shared_.counted.calls += calls.begun();
  shared_.counted.late_answers += calls.late_answers();
}

void PoolLane::close(const Status& why) {
  loop().disarm(*this);
  loop().unschedule(work_);
  open(nullptr);
  const auto count = [this](PooledConnection& each) { count_calls(each); };
  up_.for_each(count);
  leaving_.for_each(count);
  making_.clear();
  up_.clear();
  leaving_.clear();
  over_.clear();
  connect_waiters_.end(why);
  fail_waiting(why);
}

void PoolLane::add_to(PoolStats& stats) const {
  stats.connections += up_.count();
  stats.connections_making += making_.count();
  stats.connections_leaving += leaving_.count();
  stats.calls_waiting += waiting_count_;
  const auto add = [&stats](PooledConnection& each) {
    stats.calls += each.session().calls_out().begun();
    stats.late_answers += each.session().calls_out().late_answers();
    stats.calls_in_flight += each.in_flight();
  };
  up_.for_each([&](PooledConnection& each) {
    stats.connections_busy += each.in_flight() != 0 ? 1 : 0;
    add(each);
  });
  leaving_.for_each(add);
}

}  // namespace weft::detail
