// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latch>
#include <memory>
#include <string>
#include <thread>

#include "weft/detail/base/fork_mark.hpp"
#include "weft/detail/base/result.hpp"
#include "weft/detail/base/unique_function.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/runtime/loop_options.hpp"

namespace weft {

struct LoopThreadOptions {
  LoopOptions loop{};
  /// The processor it may run on; -1 for any.
  int cpu = -1;
  /// Name of the thread that debuggers and top show; at most 15 characters are kept.
  std::string name = "weft";
};

/// A Loop that runs on a thread of its own until it is stopped. One owner makes, stops and destroys it.
class LoopThread {
 public:
  /// Errors: those of Loop::create(); kInvalidArgument with errno for a processor that does not exist;
  /// kResourceExhausted when the system cannot create a thread.
  static Result<std::unique_ptr<LoopThread>> start(LoopThreadOptions options = {});
  /// Calls stop() unless it was called before. On its own thread it does not wait: the thread ends after its
  /// turn, and destroys the loop.
  ~LoopThread();
  LoopThread(const LoopThread&) = delete;
  LoopThread& operator=(const LoopThread&) = delete;

  /// Stays until this object ends, so that what belongs to the loop may be destroyed after stop().
  Loop& loop() const noexcept { return *loop_; }
  /// Thread: any. Work posted after stop() is dropped when this object ends.
  void post(detail::UniqueFunction<void()> work) { loop_->post(std::move(work)); }
  /// Ends the loop after the turn it is in and waits for the thread. Calling it again changes nothing, and
  /// the thread itself must not call it.
  void stop();

 private:
  LoopThread() = default;
  void leave_to_parent();

  std::unique_ptr<Loop> loop_;
  std::latch begun_{1};
  std::thread thread_;
  detail::ForkMark made_in_;
};

}  // namespace weft
