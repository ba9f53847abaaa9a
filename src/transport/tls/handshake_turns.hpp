// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/coro/executor.hpp"

namespace weft {
class Loop;
}  // namespace weft

namespace weft::detail::tls {

/// Turns of all handshakes of one loop, one step in each turn of the loop: a call of another connection waits
/// for at most one step. A step takes up to a millisecond. Thread: the loop's.
class HandshakeTurns final : public std::enable_shared_from_this<HandshakeTurns>,
                             private ExecutorLocal,
                             private Ready {
 public:
  /// Throws std::bad_alloc.
  static std::shared_ptr<HandshakeTurns> of(Loop& loop);
  explicit HandshakeTurns(Loop& loop) noexcept;

  /// Runs `step` in a turn of its own, behind the waiting ones. It must not be queued.
  void wait(Ready& step) noexcept;

 private:
  void run_one() noexcept;

  Loop& loop_;
  IntrusiveList<Ready, ReadyTag> waiting_;
};

}  // namespace weft::detail::tls
