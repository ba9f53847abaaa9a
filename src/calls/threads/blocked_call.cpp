// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/threads/blocked_call.hpp"

#include <chrono>
#include <optional>

#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/runtime/worker_wait.hpp"

namespace weft::detail {

namespace {

/// Time after the call's own end within which the loop must report it.
constexpr Duration kGrace = std::chrono::seconds{1};

}  // namespace

Status BlockedCall::check_thread(const CallDoor& door) noexcept {
  if (Loop::current() != nullptr) {
    return {
        StatusCode::kFailedPrecondition, Layer::kRpc,
        "a blocking call inside a turn of a loop would hold up all that the loop serves, and of the client's "
        "own loop wait for itself: write co_await client.call<f>(...), or of another loop's client co_await "
        "weft::on_loop_of(client).call<f>(...)"};
  }
  if (door.mailbox() != nullptr && door.mailbox()->use().is_run_here()) {
    return {StatusCode::kFailedPrecondition, Layer::kRpc,
            "a blocking call on the thread that drives the client's loop would wait for itself: write "
            "loop.block_on(client.call<f>(...)), or co_await it"};
  }
  return {};
}

// The thread that would tell is not there.
bool BlockedCall::is_in_child() const noexcept {
  return door().mailbox() != nullptr && door().mailbox()->in_child();
}

Status BlockedCall::wait(const std::stop_token& stop) noexcept {
  if (is_in_child() && !told_.load(std::memory_order_acquire)) {
    return {StatusCode::kFailedPrecondition, Layer::kRuntime,
            "a child of fork waits for a call of its parent, which is answered there; call anew"};
  }
  // A stop requested before the wait always gives the same outcome, even if the answer has already arrived.
  if (stop.stop_requested()) {
    abandon();
    return to_status(CancelReason::kRequested);
  }
  std::optional<WorkerWait> waits;  // an answer that is here needs no other worker
  if (!told_.load(std::memory_order_acquire)) waits.emplace();
  if (waits && !waits->refusal().ok() && !told_.load(std::memory_order_acquire)) {
    abandon();
    return waits->refusal();
  }
  const auto on_stop = [this] {
    cancel(CancelReason::kRequested);
    if (!borrows()) goes_on_.raise();
  };
  std::optional<std::stop_callback<decltype(on_stop)>> listening;
  if (stop.stop_possible()) listening.emplace(stop, on_stop);
  Deadline until = time().expected_by();
  if (borrows()) {
    until = Deadline::infinite();
  } else if (!until.is_infinite()) {
    until = Deadline::after(until.at(), kGrace);
  }
  const bool in_time = goes_on_.wait(until);
  listening.reset();
  if (told_.load(std::memory_order_acquire)) return take_failure();
  if (in_time) return to_status(CancelReason::kRequested);
  cancel(CancelReason::kDeadline);
  return to_status(CancelReason::kDeadline).with_context("the client's loop does not turn");
}

void BlockedCall::abandon() noexcept {
  if (told_.load(std::memory_order_acquire)) return;
  cancel(CancelReason::kRequested);
  if (borrows() && !is_in_child()) goes_on_.wait(Deadline::infinite());
}

}  // namespace weft::detail
