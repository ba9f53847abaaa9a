// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/coro/executor.hpp"

namespace weft {
class Loop;
}  // namespace weft

namespace weft::detail {

/// Object of a loop with functions that call user code, which may end the object meanwhile. It is destroyed
/// when its functions are not on the stack: outside of the loop's turns at once, within a turn as the next
/// work of the loop, and at the latest with the loop. Owns itself once its end was requested. Thread: the
/// loop's.
class LateEnd {
 public:
  /// Stands in a function that goes on after it has called the user's code, and that may run outside of
  /// turns.
  class Guard {
   public:
    Guard() noexcept { ++guards_; }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;
    ~Guard() { --guards_; }
  };

  LateEnd(const LateEnd&) = delete;
  LateEnd& operator=(const LateEnd&) = delete;

  /// Destroys those of `loop` that wait for their end.
  static void destroy_all(Loop& loop) noexcept;

 protected:
  LateEnd() noexcept : place_(*this) {}
  virtual ~LateEnd() = default;

  /// Called once, after the object has ended everything that it does for others.
  void destroy_late(Loop& loop) noexcept;

 private:
  /// Stands for the object among what its loop is to run, and to destroy at its own end.
  struct Place final : Ready, ExecutorLocal {
    explicit Place(LateEnd& its) noexcept;
    LateEnd& object;
  };

  Place place_;
  static inline constinit thread_local unsigned guards_ = 0;
};

}  // namespace weft::detail
