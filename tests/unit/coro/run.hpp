// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <utility>

#include "weft/detail/coro/executor.hpp"
#include "weft/detail/coro/task.hpp"

namespace weft::testing {

using namespace weft::detail;

/// A task that was started and may be stopped half-way: the test's own hand on a coroutine.
template <typename T = void>
class Started : private detail::Completion {
 public:
  explicit Started(Task<T> task, CancelScope* scope = nullptr)
      : Completion{[](Completion& self, detail::TaskPromiseBase&) noexcept {
          static_cast<Started&>(self).ended_ = true;
        }},
        task_(std::move(task)) {
    detail::start(task_, scope, *this);
  }

  bool ended() const { return ended_; }
  T result() { return detail::take_result(task_); }
  void drop() { task_.reset(); }

 private:
  Task<T> task_;
  bool ended_ = false;
};

/// Runs everything that is ready, until nothing is.
inline void drain(Executor& executor) {
  executor.run_ready(std::numeric_limits<std::size_t>::max());
}

/// Runs `task` to its end, which the executor alone must be able to reach.
template <typename T>
T run(Executor& executor, Task<T> task, CancelScope* scope = nullptr) {
  Executor::Enter entered(executor);
  Started<T> started(std::move(task), scope);
  drain(executor);
  WEFT_ASSERT(started.ended(), "the task waits for something that never comes");
  return started.result();
}

}  // namespace weft::testing
