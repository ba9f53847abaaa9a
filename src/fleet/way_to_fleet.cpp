// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/fleet/way_to_fleet.hpp"

#include <atomic>
#include <optional>
#include <utility>

#include "weft/detail/fleet/far_call.hpp"
#include "weft/detail/fleet/fleet_core.hpp"
#include "weft/detail/runtime/clock.hpp"
#include "weft/detail/runtime/mailbox.hpp"
#include "weft/detail/runtime/thread_signal.hpp"
#include "weft/detail/runtime/worker_wait.hpp"

namespace weft::detail {

namespace {

/// Time after the call's own end within which the loop may tell of it.
constexpr Duration kTellingTime = std::chrono::seconds{1};

/// A thread that waits, until the loop has told it or it is sent on. The loop keeps it while it tells.
class WaitingThread final : public Told {
 public:
  /// Gives `call` to its loop, which tells `self`.
  static void send(ToldTask& call, const std::shared_ptr<WaitingThread>& self) noexcept {
    self->kept_ = self;
    call.send_for(*self);
  }
  /// Ends the wait without a notification.
  void go_on() noexcept { goes_on_.raise(); }
  void was_given_up() noexcept { kept_.reset(); }

  bool is_told() const noexcept { return told_.load(std::memory_order_acquire); }
  bool wait(Deadline until) noexcept { return goes_on_.wait(until); }

 private:
  void told() noexcept override {
    const std::shared_ptr<WaitingThread> self = std::move(kept_);
    told_.store(true, std::memory_order_release);
    goes_on_.raise();
  }

  std::shared_ptr<WaitingThread> kept_;
  std::atomic<bool> told_{false};
  ThreadSignal goes_on_;
};

}  // namespace

WayToFleet::WayToFleet(const FleetCore& core)
    : mailbox_(core.loop().mailbox()),
      timeout_(core.pool_options().client.call_timeout),
      has_system_clock_(&core.loop().clock() == &steady_clock_source()) {}

Status WayToFleet::check_thread() const noexcept {
  if (Loop::current() != nullptr) {
    return {
        StatusCode::kFailedPrecondition, Layer::kRpc,
        "a blocking call of a fleet inside a turn of a loop would hold up all that the loop serves: write "
        "co_await fleet.call<f>(...) on the fleet's own loop, or co_await "
        "weft::on_loop_of(fleet).call<f>(...)"};
  }
  if (mailbox_->use().is_run_here()) {
    return {StatusCode::kFailedPrecondition, Layer::kRpc,
            "a blocking call of a fleet on the thread that drives its loop would wait for itself: write "
            "loop.block_on(fleet.call<f>(...)), or co_await it"};
  }
  return {};
}

Status WayToFleet::wait(ToldTask& call, const FleetCallOptions& options, const std::stop_token& stop) const {
  // A call that is begun all the same might be answered before it is given up.
  if (stop.stop_requested()) {
    Status stopped = to_status(CancelReason::kRequested);
    stopped.mark_unprocessed();
    return stopped;
  }
  const WorkerWait waits;
  if (!waits.refusal().ok()) {
    Status refusal = waits.refusal();
    refusal.mark_unprocessed();
    return refusal;
  }
  const bool waits_in_any_case = names_memory(options);
  Deadline until;
  if (has_system_clock_ && !waits_in_any_case) {
    const Duration timeout = options.call.timeout == Duration::zero() ? timeout_ : options.call.timeout;
    until = Deadline::after(steady_clock_source().now(), timeout).earlier(options.call.deadline);
    if (!until.is_infinite()) until = Deadline::after(until.at(), kTellingTime);
  }
  const auto thread = std::make_shared<WaitingThread>();
  WaitingThread::send(call, thread);
  bool stopped = false;
  const auto on_stop = [&] {
    if (!call.give_up(CancelReason::kRequested)) return;
    stopped = true;
    thread->go_on();
  };
  std::optional<std::stop_callback<decltype(on_stop)>> listening;
  if (stop.stop_possible() && !waits_in_any_case) listening.emplace(stop, on_stop);
  thread->wait(until);
  listening.reset();  // waits for a stop that is being heard of
  if (stopped) {
    thread->was_given_up();
    return to_status(CancelReason::kRequested);
  }
  if (!thread->is_told() && call.give_up(CancelReason::kDeadline)) {
    thread->was_given_up();
    return to_status(CancelReason::kDeadline).with_context("the fleet's loop does not turn");
  }
  thread->wait(Deadline::infinite());
  return failure_of_far_call(call.take_failure(), call.lost_its_loop());
}

}  // namespace weft::detail
