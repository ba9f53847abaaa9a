// SPDX-License-Identifier: Apache-2.0
#include "calls/serve/worker_queue.hpp"

#include <algorithm>

#include "calls/terms/admission.hpp"
#include "weft/detail/calls/terms/method_entry.hpp"

namespace weft::detail {

std::optional<Refusal> WorkerQueue::add(ServedCall& call, ServedCall*& gone) {
  gone = nullptr;
  const HandlerOptions& options = call.method().options;
  Load* load = nullptr;
  if (options.running_max != 0 || options.waiting_max != 0) load = &loads_[&call.method()];
  if (options.waiting_max != 0 && !has_place(call.method(), *load)) {
    return refusal_of_method(call.method(), *load);
  }
  Lane& lane = lanes_[call.connection_id()];
  if (is_full_for(call.method(), load) && !make_place(lane, gone)) {
    if (lane.count == 0) lanes_.erase(call.connection_id());
    return refusal();
  }
  lane.calls.push_back(call.details());
  if (lane.count++ == 0) turns_.push_back(lane);
  ++calls_;
  if (load != nullptr) ++load->waiting;
  return std::nullopt;
}

// Idle workers take waiting calls only when they run, which has not happened yet when many calls arrive in
// one turn of a loop. Examines all methods with limits only where it would otherwise refuse, like
// has_place().
bool WorkerQueue::is_full_for(const MethodEntry& method, const Load* load) const {
  if (calls_ < calls_max_) return false;
  const std::uint32_t limit = method.options.running_max;
  const bool may_run = limit == 0 || load->running + load->waiting < limit;
  const std::size_t taken = std::min(idle_workers(), count_runnable() + (may_run ? 1 : 0));
  return calls_ + 1 - taken > calls_max_;
}

bool WorkerQueue::has_place(const MethodEntry& method, const Load& load) const {
  const std::uint32_t most = method.options.waiting_max;
  if (load.waiting < most) return true;
  const std::size_t of_method = runnable(method, load);
  const std::size_t of_others = count_runnable() - of_method;
  const std::size_t idle = idle_workers();
  const std::size_t taken = std::min(of_method, idle - std::min(idle, of_others));
  return load.waiting - taken < most;
}

std::size_t WorkerQueue::idle_workers() const {
  return workers_ - std::min(workers_, running_ - std::min(running_, waiting_workers_));
}

std::size_t WorkerQueue::runnable(const MethodEntry& method, const Load& load) {
  const std::uint32_t limit = method.options.running_max;
  return limit == 0 ? load.waiting : std::min(load.waiting, limit - std::min(limit, load.running));
}

std::size_t WorkerQueue::count_runnable() const {
  std::size_t count = calls_;
  for (const auto& [method, load] : loads_) count -= load.waiting - runnable(*method, load);
  return count;
}

Refusal WorkerQueue::refusal() const {
  return {RefusalReason::kOverWorkerQueue,
          exhausted("all workers of the server are busy, and their queue has no place for the call "
                    "(ServerOptions::worker_queue_max)"),
          time_.wait(std::max<std::size_t>(1, calls_), workers_)};
}

Refusal WorkerQueue::refusal_of_method(const MethodEntry& method, const Load& load) const {
  const std::size_t limit = method.options.running_max;
  return {RefusalReason::kOverWorkerQueue,
          exhausted("as many calls of the method wait for a worker as may (HandlerOptions::waiting_max)"),
          load.time.wait(load.waiting, limit == 0 ? workers_ : std::min(workers_, limit))};
}

// No lane of a full queue is entitled to more than an equal part; the calls that workers are about to take
// count in it. The lane itself may be new and counts too.
bool WorkerQueue::make_place(const Lane& lane, ServedCall*& gone) {
  const std::size_t share = std::max(calls_, calls_max_) / lanes_.size();
  if (lane.count >= share) return false;
  turns_.for_each([&](Lane& other) {
    if (gone == nullptr && other.count > share) gone = other.calls.front().call;
  });
  if (gone == nullptr) return false;
  leave(lanes_.at(gone->connection_id()), *gone);
  return true;
}

ServedCall* WorkerQueue::next(TimePoint now) {
  ServedCall* const call = find_next();
  if (call == nullptr) return nullptr;
  Lane& lane = lanes_.at(call->connection_id());
  lane.unlink();
  turns_.push_back(lane);
  leave(lane, *call);
  time_.begins(now, running_++);
  if (const auto load = loads_.find(&call->method()); load != loads_.end()) {
    load->second.time.begins(now, load->second.running++);
  }
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
    lane.calls.for_each([&](ServedDetails& waiting) {
      if (found == nullptr && may_run(waiting.call->method())) found = waiting.call;
    });
  });
  return found;
}

bool WorkerQueue::may_run(const MethodEntry& method) {
  const std::uint32_t limit = method.options.running_max;
  return limit == 0 || loads_[&method].running < limit;
}

bool WorkerQueue::ended(const MethodEntry& method, TimePoint now) {
  time_.ends(now, running_--);
  const auto found = loads_.find(&method);
  if (found == loads_.end()) return false;
  Load& load = found->second;
  load.time.ends(now, load.running--);
  return method.options.running_max != 0 && load.waiting != 0;
}

bool WorkerQueue::remove(ServedCall& call) {
  if (!call.details().ListHook<WorkerQueueTag>::linked()) return false;
  leave(lanes_.at(call.connection_id()), call);
  return true;
}

void WorkerQueue::leave(Lane& lane, ServedCall& call) {
  call.details().ListHook<WorkerQueueTag>::unlink();
  const auto load = loads_.find(&call.method());
  if (load != loads_.end()) --load->second.waiting;
  --calls_;
  if (--lane.count == 0) lanes_.erase(call.connection_id());
}

}  // namespace weft::detail
