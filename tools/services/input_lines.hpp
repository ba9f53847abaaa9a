// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "weft/detail/coro/event.hpp"
#include "weft/detail/coro/task.hpp"

namespace weft {
class Loop;
}

namespace weft::services {

/// The lines of standard input, for a coroutine that must not block its loop: a thread reads them, a few
/// ahead. Thread: the loop's.
class InputLines {
 public:
  /// `loop` outlives it, and runs no more turns afterwards. Throws std::system_error.
  explicit InputLines(Loop& loop);
  /// Waits for the thread, which does not wait for input any more.
  ~InputLines();
  InputLines(const InputLines&) = delete;
  InputLines& operator=(const InputLines&) = delete;

  /// Waits for the next line that is not empty; none at the end of the input, or when stop() was called.
  Task<std::optional<std::string>> next();
  /// Ends the wait: no more lines are wanted.
  void stop();

 private:
  void read();
  /// False when no more are wanted.
  bool hand_over(std::string line);
  void end();
  void tell();

  Loop& loop_;
  Event news_;
  /// Wakes the thread from its wait for input.
  const int stop_;
  std::mutex mutex_;
  std::condition_variable room_;
  std::deque<std::string> lines_;
  bool ended_ = false;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace weft::services
