// SPDX-License-Identifier: Apache-2.0
#include "calls/call_workers.hpp"

#include <utility>

#include "weft/detail/runtime/post_surely.hpp"
#include "weft/runtime/loop.hpp"

namespace weft::detail {

Result<std::unique_ptr<CallWorkers>> CallWorkers::start(unsigned threads, std::size_t queue_max) {
  std::unique_ptr<CallWorkers> workers{new CallWorkers{queue_max}};
  Result<void> started = workers->threads_.start(threads, "weft-work");
  if (!started.ok()) return std::move(started).status();
  return workers;
}

bool CallWorkers::submit(ServedCall& call) {
  ServedCall* gone = nullptr;
  const bool taken = threads_.with_queue([&](Calls& calls) { return calls.waiting.add(call, gone); });
  if (taken) threads_.wake_one();
  if (gone != nullptr) {
    post_surely(gone->loop(), [gone] { gone->refuse_unrun(RefusalReason::kOverWorkerQueue); });
  }
  return taken;
}

bool CallWorkers::withdraw(ServedCall& call) {
  return threads_.with_queue([&call](Calls& calls) { return calls.waiting.remove(call); });
}

bool CallWorkers::Calls::run(ServedCall& call) {
  const TimePoint run_until = call.parts().run_until;
  if (run_until != TimePoint::max() && call.loop().clock().now() > run_until) return true;
  call.run_off_loop();
  return false;
}

void CallWorkers::Calls::publish(ServedCall& call, bool too_late) {
  post_surely(call.loop(), [&call, too_late] {
    if (too_late) return call.refuse_unrun(RefusalReason::kBehind);
    call.publish();
  });
}

}  // namespace weft::detail
