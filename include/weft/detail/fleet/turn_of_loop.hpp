// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>

#include "weft/detail/coro/executor.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft::detail {

/// Goes on inside a turn of `loop`: at once where this is one, else in the next. A coroutine that is begun
/// outside of turns, by Scope::spawn() for instance, may then sleep and connect. Ignores cancel. Thread: one
/// that may use the loop.
class [[nodiscard]] TurnOfLoop {
 public:
  explicit TurnOfLoop(Loop& loop) noexcept : loop_(loop) {}
  TurnOfLoop(const TurnOfLoop&) = delete;
  TurnOfLoop& operator=(const TurnOfLoop&) = delete;

  bool await_ready() const noexcept { return Loop::current() == &loop_; }
  void await_suspend(std::coroutine_handle<> coroutine) noexcept {
    resumption_.handle = coroutine;
    loop_.schedule(resumption_);
  }
  void await_resume() const noexcept {}

 private:
  Loop& loop_;
  Resumption resumption_;
};

}  // namespace weft::detail
