// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "weft/coro/event.hpp"
#include "weft/coro/task.hpp"

namespace weft {
class Loop;
}

namespace weft::services {

/// The lines of standard input, for a coroutine that must not block its loop: a thread reads them, a few
/// ahead. Made once in a process. Thread: the loop's.
class InputLines {
 public:
  /// `loop` outlives it.
  explicit InputLines(Loop& loop);
  ~InputLines();
  InputLines(const InputLines&) = delete;
  InputLines& operator=(const InputLines&) = delete;

  /// Waits for the next line that is not empty; none at the end of the input, or when stop() was called.
  Task<std::optional<std::string>> next();
  /// Ends the wait: no more lines are wanted.
  void stop();

 private:
  /// Shared with the thread, which may hang in a read for ever and is left there.
  struct Shared {
    std::mutex mutex;
    std::condition_variable room;
    std::deque<std::string> lines;
    bool ended = false;
    /// Null when nobody is to be told any more.
    Loop* loop = nullptr;
    Event* news = nullptr;
  };

  static void read(const std::shared_ptr<Shared>& shared);

  Event news_;
  const std::shared_ptr<Shared> shared_;
};

}  // namespace weft::services
