// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/coro/executor.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/runtime/timer.hpp"

namespace weft::detail::ucx_carrier {

/// Limits the number of peers of a loop that are brought up at the same time, where each needs a worker of
/// its own (UcxErrorMode::kNone) before its first message. The others wait in order, and begin in separate
/// turns of the loop. While others wait, a guest that has been silent for too long loses its place: a few
/// silent peers do not keep the honest ones out. Thread: the loop's.
class BringUpRoom final : private Ready, private Timer {
 public:
  struct GuestTag;
  /// A peer that is brought up. Leaves the room before it ends.
  class Guest : public ListHook<GuestTag> {
   public:
    /// `given`: it has a place now, after an enter() that returned false; otherwise it has lost its place,
    /// because others wait and it was silent for too long.
    virtual void on_place(bool given) noexcept = 0;

   protected:
    ~Guest() = default;

   private:
    friend BringUpRoom;
    bool inside_ = false;
    TimePoint entered_{};
  };

  /// `places` is above zero. `stay` is what a guest has while others wait.
  BringUpRoom(Loop& loop, std::size_t places, Duration stay) noexcept;

  /// True: `guest` has a place until it leaves. False: it waits, until on_place() or until it leaves.
  bool enter(Guest& guest) noexcept;
  /// The peer has sent a message, or has ended. Calling it again has no effect.
  void leave(Guest& guest) noexcept;

 private:
  void admit(Guest& guest) noexcept;
  void let_in() noexcept;
  void watch() noexcept;
  void on_timer() override;

  Loop& loop_;
  std::size_t places_;
  const Duration stay_;
  IntrusiveList<Guest, GuestTag> waiting_;
  /// Guests in the order in which they came in.
  IntrusiveList<Guest, GuestTag> inside_;
};

}  // namespace weft::detail::ucx_carrier
