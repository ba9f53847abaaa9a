// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "weft/detail/base/descriptor.hpp"
#include "weft/detail/base/fork_mark.hpp"
#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/base/result.hpp"
#include "weft/detail/base/unique_function.hpp"
#include "weft/detail/runtime/loop_use.hpp"
#include "weft/detail/runtime/posted.hpp"

namespace weft::detail {

// Work that other threads hand to a loop, and the protocol that wakes a sleeping loop exactly when it must.
// Code that may hand something over after the loop has ended keeps the mailbox, which then refuses or drops
// it.
//
// `newest_` is a stack of posts; the loop takes it whole and reverses it. `asleep_` says that the loop waits
// in the kernel, or is about to, and does not look at `newest_` any more. The two sides mirror each other:
//
//   loop                                       poster
//   L1  asleep_ = true                         P1  push on newest_
//   L2  look at newest_ (and stop, pollers)    P2  look at asleep_
//   L3  found nothing: wait in the kernel      P3  true: set it to false and signal the descriptor
//   L4  asleep_ = false
//
// L1, L2, P1 and P2 are sequentially consistent, so that all threads see them in one order. In this order
// either P1 is before L2, and the loop finds the post and does not wait; or L2 is before P1, then L1 is
// before P2, and the poster finds the loop asleep and signals. The signal stays in the kernel until the loop
// waits for it, so it does not matter whether L3 has begun. Weaker orders would let both sides miss each
// other: the lost wake-up.
//
// P3 is one exchange: of many simultaneous posters only one pays for the system call. A signal that arrives
// after the loop has woken for another reason costs one empty turn. The loop's stop request follows the same
// protocol with its own flag in the place of `newest_`.
//
// The descriptor is watched edge-triggered and is never read: each write is an edge of its own.
//
// A stopped loop takes no errands until its next turn, and an ended one takes nothing. The pushing side looks
// at `state_` afterwards, the closing side looks at `newest_` afterwards, so that one of them finds a post
// pushed meanwhile. In a stopped mailbox such a post stays in place, refused. From an ended mailbox it is
// removed under a lock, so that no thread holds other threads' posts when the loop's end looks for them.
class Mailbox {
 public:
  static Result<std::shared_ptr<Mailbox>> create();
  explicit Mailbox(Descriptor signal) noexcept : signal_(std::move(signal)) {}
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;
  ~Mailbox() { drop(); }

  /// P1 to P3. Thread: any, while the loop exists.
  void post(UniqueFunction<void()> work);
  /// The same for a node, also when the loop has ended, which drops it. Thread: any.
  void post(Posted& node) noexcept;
  /// The same for an errand; false, and nothing was done, when the loop takes none. Thread: any.
  bool send(Errand& errand) noexcept;
  /// P2 and P3, for code that did its own P1. Thread: any.
  void wake() noexcept;

  /// Runs the work posted before this call, in order. Returns the number of posts.
  std::size_t run();
  /// Returns true if run() would find something, as far as this thread knows.
  bool has_posts() const noexcept { return newest_.load(std::memory_order_relaxed) != nullptr; }
  /// Keeps an errand that was begun. Thread: the loop's, as for all functions about errands from here on.
  void keep(Errand& errand) noexcept { begun_.push_back(errand); }
  /// Ends the kept errands that belong to `whom`.
  void end_errands_of(const void* whom) noexcept;
  /// Takes no errands until open(); ends present errands, begun or not.
  void stop_errands() noexcept;
  void open() noexcept {
    if (state_.load(std::memory_order_relaxed) == State::kStopped) [[unlikely]] {
      state_.store(State::kOpen, std::memory_order_relaxed);
    }
  }
  /// Destroys posted work, and work that its destruction posts, and takes nothing more: the loop ends.
  void end() noexcept;

  /// The loop sleeps, as far as this thread knows: nothing holds it up.
  bool is_asleep() const noexcept { return asleep_.load(std::memory_order_relaxed); }

  /// L1. Thread: the loop's, like everything below.
  void announce_sleep() noexcept { asleep_.store(true, std::memory_order_seq_cst); }
  /// L2.
  bool empty() const noexcept { return newest_.load(std::memory_order_seq_cst) == nullptr; }
  /// L4.
  void awake() noexcept {
    if (asleep_.load(std::memory_order_relaxed)) asleep_.store(false, std::memory_order_relaxed);
  }
  /// Makes the descriptor readable.
  void signal() noexcept;

  int descriptor() const noexcept { return signal_.get(); }
  /// The loop is a copy that a child of fork inherited.
  bool in_child() const noexcept { return made_in_.in_child(); }
  std::uint64_t wakeups() const noexcept { return wakeups_.load(std::memory_order_relaxed); }

  LoopUse& use() noexcept { return use_; }
  const LoopUse& use() const noexcept { return use_; }

 private:
  enum class State : std::uint8_t { kOpen, kStopped, kEnded };
  class Post;

  void push(Posted& node) noexcept;
  Posted* take_all() noexcept;
  void drop() noexcept;
  static void drop_all(Posted* oldest) noexcept;

  alignas(64) std::atomic<Posted*> newest_{nullptr};
  std::atomic<bool> asleep_{false};
  std::atomic<State> state_{State::kOpen};
  std::atomic<std::uint64_t> wakeups_{0};
  LoopUse use_;
  std::mutex ending_;
  IntrusiveList<Errand, ErrandTag> begun_;
  Descriptor signal_;
  const ForkMark made_in_;
};

}  // namespace weft::detail
