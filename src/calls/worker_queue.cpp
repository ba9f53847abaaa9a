// SPDX-License-Identifier: Apache-2.0
#include "calls/worker_queue.hpp"

#include "weft/detail/calls/method_entry.hpp"

namespace weft::detail {

bool WorkerQueue::add(ServedCall& call, ServedCall*& gone) {
  gone = nullptr;
  const HandlerOptions& options = call.method().options;
  Load* load = nullptr;
  if (options.running_max != 0 || options.waiting_max != 0) load = &loads_[&call.method()];
  if (options.waiting_max != 0 && load->waiting >= options.waiting_max) return false;
  Lane& lane = lanes_[call.connection_id()];
  if (calls_ >= calls_max_ && !make_place(lane, gone)) {
    if (lane.count == 0) lanes_.erase(call.connection_id());
    return false;
  }
  lane.calls.push_back(call.parts());
  if (lane.count++ == 0) turns_.push_back(lane);
  ++calls_;
  if (load != nullptr) ++load->waiting;
  return true;
}

// Of a full queue no lane has a right to more than an equal part. The lane itself may be new and counts too.
bool WorkerQueue::make_place(const Lane& lane, ServedCall*& gone) {
  const std::size_t share = calls_max_ / lanes_.size();
  if (lane.count >= share) return false;
  turns_.for_each([&](Lane& other) {
    if (gone == nullptr && other.count > share) gone = other.calls.front().call;
  });
  if (gone == nullptr) return false;
  leave(lanes_.at(gone->connection_id()), *gone);
  return true;
}

ServedCall* WorkerQueue::next() {
  ServedCall* const call = find_next();
  if (call == nullptr) return nullptr;
  Lane& lane = lanes_.at(call->connection_id());
  lane.unlink();
  turns_.push_back(lane);
  leave(lane, *call);
  if (call->method().options.running_max != 0) ++loads_[&call->method()].running;
  return call;
}

// Only where a method is at its limit are calls passed over, and no more than the queue's bound.
ServedCall* WorkerQueue::find_next() {
  if (turns_.empty()) return nullptr;
  ServedCall& first = *turns_.front().calls.front().call;
  if (may_run(first.method())) return &first;
  ServedCall* found = nullptr;
  turns_.for_each([&](Lane& lane) {
    if (found != nullptr) return;
    lane.calls.for_each([&](ServedParts& waiting) {
      if (found == nullptr && may_run(waiting.call->method())) found = waiting.call;
    });
  });
  return found;
}

bool WorkerQueue::may_run(const MethodEntry& method) {
  const std::uint32_t limit = method.options.running_max;
  return limit == 0 || loads_[&method].running < limit;
}

bool WorkerQueue::ended(const MethodEntry& method) {
  if (method.options.running_max == 0) return false;
  Load& load = loads_[&method];
  --load.running;
  return load.waiting != 0;
}

bool WorkerQueue::remove(ServedCall& call) {
  if (!call.parts().ListHook<WorkerQueueTag>::linked()) return false;
  leave(lanes_.at(call.connection_id()), call);
  return true;
}

void WorkerQueue::leave(Lane& lane, ServedCall& call) {
  call.parts().ListHook<WorkerQueueTag>::unlink();
  const auto load = loads_.find(&call.method());
  if (load != loads_.end()) --load->second.waiting;
  --calls_;
  if (--lane.count == 0) lanes_.erase(call.connection_id());
}

}  // namespace weft::detail
