// SPDX-License-Identifier: Apache-2.0
#include "calls/serve/call_workers.hpp"

#include <utility>

#include "calls/terms/admission.hpp"
#include "weft/detail/runtime/clock.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/runtime/post_surely.hpp"

namespace weft::detail {

namespace {

Refusal too_late_to_run() {
  return {RefusalReason::kBehind,
          exhausted("half of the time for this call had passed before a worker of the server was free, so it "
                    "was not run")};
}

}  // namespace

Result<std::unique_ptr<CallWorkers>> CallWorkers::start(unsigned threads, unsigned threads_max,
                                                        std::size_t queue_max) {
  std::unique_ptr<CallWorkers> workers{new CallWorkers{queue_max, threads}};
  Result<void> started = workers->threads_.start(threads, threads_max, "weft-work");
  if (!started.ok()) return std::move(started).status();
  return workers;
}

std::optional<Refusal> CallWorkers::submit(ServedCall& call) {
  ServedCall* gone = nullptr;
  auto refusal = threads_.with_queue([&](Calls& calls) { return calls.waiting.add(call, gone); });
  if (!refusal) threads_.wake_one();
  if (gone != nullptr) {
    post_surely(gone->loop(), [this, gone] {
      gone->refuse_unrun(threads_.with_queue([](const Calls& calls) { return calls.waiting.refusal(); }));
    });
  }
  return refusal;
}

bool CallWorkers::withdraw(ServedCall& call) {
  return threads_.with_queue([&call](Calls& calls) { return calls.waiting.remove(call); });
}

// The system's clock: a loop's may be of a test, which no other thread reads.
ServedCall* CallWorkers::Calls::next() {
  return waiting.next(steady_clock_source().now());
}

bool CallWorkers::Calls::ended(const ServedCall& call) {
  return waiting.ended(call.method(), steady_clock_source().now());
}

bool CallWorkers::Calls::run(ServedCall& call) {
  const TimePoint run_until = call.details().run_until;
  if (run_until != TimePoint::max() && call.loop().clock().now() > run_until) return true;
  call.run_off_loop();
  return false;
}

void CallWorkers::Calls::publish(ServedCall& call, bool too_late) {
  post_surely(call.loop(), [&call, too_late] {
    if (too_late) return call.refuse_unrun(too_late_to_run());
    call.publish();
  });
}

}  // namespace weft::detail
