// SPDX-License-Identifier: Apache-2.0
#include "calls/client/pool_lane.hpp"

#include <algorithm>
#include <cmath>
#include <new>
#include <utility>

#include "calls/call/call_path.hpp"
#include "weft/detail/base/saturated.hpp"

namespace weft::detail {

namespace {

/// Number of connections that may wait for answers after they were left.
constexpr std::size_t kLeavingMin = 8;

constexpr FixedFailure kTooManyWait{StatusCode::kResourceExhausted, Layer::kRpc, Retry::kBackoff,
                                    "too many calls wait for a connection already (calls_waiting_max)", true};

/// Another attempt may go better.
bool may_pass(const Status& failure) {
  return failure.code() == StatusCode::kUnavailable || failure.code() == StatusCode::kResourceExhausted;
}

/// Returns a time between three quarters of `life` and the whole.
Duration jittered(Duration life, std::uint64_t random) {
  const Duration quarter = life / 4;
  if (quarter <= Duration::zero()) return life;
  return life - Duration{static_cast<Duration::rep>(random % static_cast<std::uint64_t>(quarter.count()))};
}

/// Shorter times of options count as this one, so that a pool of any options leaves its loop time for calls.
constexpr Duration kLookIntervalMin = std::chrono::milliseconds{1};

/// Time between two looks at the connections, by which they may be closed late.
Duration look_interval(const PoolOptions& options) {
  Duration interval = options.spare_idle_timeout;
  if (options.idle_timeout != Duration::zero()) interval = std::min(interval, options.idle_timeout);
  if (options.connection_life_max != Duration::zero())
    interval = std::min(interval, options.connection_life_max);
  return std::max(interval, kLookIntervalMin);
}

}  // namespace

void PoolShared::back_off(TimePoint now) {
  if (now < quiet_until) return;
  quiet_until = saturated_sum(now, reconnect_wait.next(now, connections.loop.random()));
}

void PoolShared::came_up(TimePoint now) {
  ++counted.connects;
  if (!in_trouble) quiet_until = TimePoint{};
  last_failure = Status{};
  reconnect_wait.on_connected(now);
}

void PoolShared::is_troubled(const Status& why, TimePoint now) {
  in_trouble = true;
  troubled_at = now;
  last_failure = why;
  back_off(now);
}

void PoolShared::recover() {
  in_trouble = false;
  quiet_until = TimePoint{};
}

Begun PoolLane::begin(PendingCall& call, std::size_t body_bytes) {
  if (waiting_.empty()) {
    if (open_ != nullptr && open_->has_room()) return open_->calls_out().begin(call, body_bytes);
    if (PooledConnection* const best = all_.with_fewest_calls()) {
      open(&best->session());
      return best->session().calls_out().begin(call, body_bytes);
    }
  }
  if (waiting_.count() >= shared_.options.client.limits.calls_waiting_max) {
    return call.refuse(Status::of<kTooManyWait>());
  }
  waiting_.add(call);
  ++shared_.counted.waits;
  open(nullptr);
  work_soon();
  return call.wait();
}

void PoolLane::withdraw(PendingCall& call) noexcept {
  waiting_.remove(call);
}

// When a server ends, all its connections end together. The loss of the others must be noticed before a call
// begins on one of them, so this waits for the next turn.
void PoolLane::take_again(PendingCall& call) noexcept {
  waiting_.add(call);
  open(nullptr);
  holds_ = true;
  arm_timer();
}

void PoolLane::add_connect_waiter(ConnectWaiter& waiter) {
  connect_waiters_.add(waiter);
  work_soon();
}

void PoolLane::open(Session* session) {
  if (open_ == session || (closed_ && session != nullptr)) return;
  open_ = session;
  owner_.on_open_session(*this, session);
}

void PoolLane::admit() {
  while (!waiting_.empty() && !holds_) {
    PooledConnection* const best = all_.with_fewest_calls();
    if (best == nullptr) return;
    Session& session = best->session();
    while (!waiting_.empty() && best->has_room()) {
      PendingCall& call = waiting_.take();
      call.begin_waiting(session.calls_out());
    }
    if (waiting_.empty()) open(&session);
  }
}

void PoolLane::on_up(PooledConnection& connection) {
  all_.up.take(connection, all_.making);
  shared_.came_up(now());
  calls_each_ = connection.calls_max();
  const Duration life_max = shared_.options.connection_life_max;
  if (life_max != Duration::zero()) {
    const Duration life = std::max(life_max, 4 * kLookIntervalMin);
    connection.expire_at(Deadline::after(now(), jittered(life, loop().random().next())).at());
  }
  shared_.refused_carrier.tell(connection.session().connection(), shared_.connections.logger, now());
  if (closed_) return;
  if (std::exchange(renewing_, false)) retire_expired();
  connect_waiters_.end({});
  const TimePoint look_at = next_look();
  if (look_at < look_at_) {
    look_at_ = look_at;
    arm_timer();
  }
  admit();
  if (!waiting_.empty()) work_soon();
}

void PoolLane::on_room(PooledConnection& connection) {
  if (shared_.in_trouble && is_on_trial(connection) && connection.has_answered()) [[unlikely]] {
    shared_.recover();
    work_soon();
  }
  if (!waiting_.empty()) [[unlikely]] {
    admit();
  }
}

void PoolLane::on_goaway(PooledConnection& connection) {
  leave(connection);
  was_lost(connection, {StatusCode::kUnavailable, Layer::kRpc, "the server told the connection to go away"});
  work_soon();
}

// The same rule applies to a lost connection and to a failed attempt, so a server that says hello and leaves
// is tried no more often than an unreachable one.
void PoolLane::was_lost(const PooledConnection& connection, const Status& why) {
  if (!shared_.reconnect_wait.has_lasted(connection.up_since(), now())) {
    shared_.is_troubled(why, now());
  } else if (all_.up.empty()) {
    shared_.back_off(now());
  }
}

TimePoint PoolLane::look_at_trials() {
  TimePoint next = TimePoint::max();
  all_.up.for_each([&](PooledConnection& each) {
    if (is_on_trial(each)) next = std::min(next, shared_.reconnect_wait.lasts_at(each.up_since()));
  });
  if (next > now()) return next;
  shared_.recover();
  return TimePoint::max();
}

// A peer that sends a goaway on every connection and answers nothing there would make the pool keep them as
// long as their calls wait.
void PoolLane::leave(PooledConnection& connection) {
  if (open_ == &connection.session()) open(nullptr);
  const std::size_t most = std::max(kLeavingMin, connections_max_);
  std::size_t too_many = all_.leaving.count() + 1 - std::min(most, all_.leaving.count() + 1);
  // Closed connections stay in the list until the loop's next turn; closing them again has no effect.
  all_.leaving.for_each([&too_many](PooledConnection& each) {
    if (too_many == 0) return;
    --too_many;
    each.close(
        {StatusCode::kUnavailable, Layer::kRpc,
         "one connection after the other was told to go away, and this was the oldest that had not ended"});
  });
  all_.leaving.take(connection, all_.up);
  if (connection.state() == PooledConnection::State::kUp) connection.leave();
}

void PoolLane::on_over(PooledConnection& connection, const Status& why) {
  using State = PooledConnection::State;
  const State from = connection.ended_from();
  PooledConnections& of = from == State::kMaking ? all_.making : from == State::kUp ? all_.up : all_.leaving;
  all_.over.take(connection, of);
  if (from == State::kMaking) {
    failed_to_connect(why, !connection.has_session() && can_never_work(why));
  } else if (from == State::kUp) {
    ++shared_.counted.connections_lost;
    if (open_ == &connection.session()) open(nullptr);
    was_lost(connection, why);
  }
  work_soon();
}

void PoolLane::failed_to_connect(const Status& why, bool for_good) {
  ++shared_.counted.connect_failures;
  renewing_ = false;
  if (for_good) {
    shared_.last_failure = why;
  } else {
    shared_.is_troubled(why, now());
  }
  connect_waiters_.end(why);
  if (!may_pass(why) || (all_.up.empty() && !shared_.options.waits_for_ready)) waiting_.fail(why);
}

void PoolLane::work_soon() {
  if (!work_.is_scheduled()) loop().schedule(work_);
}

void PoolLane::work() noexcept {
  all_.destroy_ended(shared_.counted);
  admit();
  while (is_short() && now() >= shared_.quiet_until) {
    if (shared_.in_trouble && (!all_.making.empty() || look_at_trials() != TimePoint::max())) break;
    make_one();
    if (shared_.in_trouble) break;
  }
  arm_timer();
}

// The number of attempts follows the number of waiting calls.
bool PoolLane::is_short() const {
  if (closed_) return false;
  if (renewing_ && all_.making.empty()) return true;
  const std::size_t there = all_.up.count() + all_.making.count();
  if (there >= connections_max_) return false;
  if (!connect_waiters_.empty() && there == 0) return true;
  const bool they_wait_for_it = !holds_ || all_.up.empty();
  return they_wait_for_it && waiting_.count() > all_.making.count() * calls_each_;
}

void PoolLane::make_one() {
  try {
    PooledConnectionOwner& owner = *this;
    auto connection = std::make_unique<PooledConnection>(shared_.connections, owner, ++shared_.connection_id);
    PooledConnection& made = *connection;
    all_.making.add(std::move(connection));
    made.make();
  } catch (const std::bad_alloc&) {
    failed_to_connect(Status::of<kOutOfMemory>(), false);
  }
}

void PoolLane::on_timer() {
  holds_ = false;
  if (now() >= look_at_) look_after();
  work();
}

// One timer for all: for the next attempt to connect that is needed, for the next check, and for calls that
// begin again.
void PoolLane::arm_timer() {
  const bool nothing = all_.up.empty() && all_.making.empty();
  if (nothing) look_at_ = TimePoint::max();
  TimePoint next = look_at_;
  if (holds_) next = now();
  if (is_short() && all_.making.empty()) {
    const TimePoint trial = shared_.in_trouble ? look_at_trials() : TimePoint::max();
    next = std::min(next, trial != TimePoint::max() ? trial : std::max(now(), shared_.quiet_until));
  }
  if (next == TimePoint::max() || closed_) return loop().disarm(*this);
  loop().arm(*this, next);
}

// An old connection whose successor could not be made is looked at with the others.
TimePoint PoolLane::next_look() {
  const Duration interval = look_interval(shared_.options);
  return std::min(Deadline::after(now(), interval).at(), all_.next_expiry(now()));
}

void PoolLane::look_after() {
  const PoolOptions& options = shared_.options;
  std::size_t busy = 0;
  all_.up.for_each(
      [&](PooledConnection& each) { busy += each.idle_time(now()) == Duration::zero() ? 1 : 0; });
  const double looks = std::max(1.0, static_cast<double>(options.idle_timeout.count()) /
                                         static_cast<double>(look_interval(options).count()));
  usual_ += (static_cast<double>(busy) - usual_) / looks;
  // The last one is no spare one, however seldom it is used.
  const auto usual = std::max({busy, static_cast<std::size_t>(std::ceil(usual_ - 0.01)), std::size_t{1}});
  if (options.idle_timeout != Duration::zero()) {
    all_.up.for_each([&](PooledConnection& each) {
      const Duration limit = all_.up.count() > usual ? options.spare_idle_timeout : options.idle_timeout;
      if (each.is_used() || each.idle_time(now()) < limit) return;
      ++shared_.counted.connections_idle;
      leave(each);
    });
  }
  renewing_ = renewing_ || all_.expired(now()) != nullptr;
  look_at_ = next_look();
}

// Called when a new connection came up in place of the expired one, which takes no more calls.
void PoolLane::retire_expired() {
  PooledConnection* const old = all_.expired(now());
  if (old == nullptr) return;
  ++shared_.counted.connections_renewed;
  leave(*old);
}

void PoolLane::close(const Status& why) {
  closed_ = true;
  loop().disarm(*this);
  open(nullptr);
  all_.abandon();
  connect_waiters_.end(why);
  waiting_.fail(why);
  work_soon();
}

void PoolLane::add_to(PoolStats& stats) const {
  all_.add_to(stats);
  stats.calls_waiting += waiting_.count();
}

}  // namespace weft::detail
