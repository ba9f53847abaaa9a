// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/coro/executor.hpp"
#include "weft/detail/runtime/poller.hpp"

namespace weft {
class Loop;
}  // namespace weft

namespace weft::detail::shared_memory {

/// The carriers of a loop that are awake. While the loop turns without sleeping, it looks into their memory
/// in each turn; before it sleeps, each of them goes to sleep and waits for its doorbell. So a carrier
/// without traffic costs a turn nothing, and a peer that is answered at once makes no system call.
/// Destroyed with the last carrier. Thread: the loop's.
class LoopRings final : private Poller,
                        private ExecutorLocal,
                        public std::enable_shared_from_this<LoopRings> {
 public:
  struct AwakeTag;
  /// A carrier. Leaves the list when it is destroyed.
  class Member : public ListHook<AwakeTag> {
   public:
    /// Looks for news, and schedules their report. Returns whether there are any. Reports nothing itself.
    virtual bool look() noexcept = 0;
    /// Announces that it sleeps until its doorbell is rung. False: there are news, and it stays awake.
    virtual bool try_sleep() noexcept = 0;

    bool is_awake() const noexcept { return linked(); }

   protected:
    ~Member() = default;

   private:
    friend class LoopRings;
    /// Number of looks in a row without news.
    std::size_t idle_looks_ = 0;
  };

  /// Returns the carriers of `loop`, whose thread is the calling one. Throws std::bad_alloc.
  static std::shared_ptr<LoopRings> of(Loop& loop);
  explicit LoopRings(Loop& loop) noexcept;
  ~LoopRings();

  void add_awake(Member& member) noexcept;

 private:
  std::size_t poll() override;
  bool arm() override;
  int descriptor() const override { return kWokenElsewhere; }

  Loop& loop_;
  IntrusiveList<Member, AwakeTag> awake_;
};

}  // namespace weft::detail::shared_memory
