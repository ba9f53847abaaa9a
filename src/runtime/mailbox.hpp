// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "runtime/descriptor.hpp"
#include "weft/base/result.hpp"
#include "weft/detail/base/fork_mark.hpp"
#include "weft/detail/base/unique_function.hpp"

namespace weft::detail {

// Work that other threads hand to a loop, and the protocol that wakes a sleeping loop exactly when it must.
//
// `newest_` is a stack of posts; the loop takes it whole and reverses it. `asleep_` says that the loop waits
// in the kernel, or is about to, and looks at `newest_` no more. The two sides mirror each other:
//
//   loop                                       poster
//   L1  asleep_ = true                         P1  push on newest_
//   L2  look at newest_ (and stop, pollers)    P2  look at asleep_
//   L3  found nothing: wait in the kernel      P3  true: set it to false and signal the descriptor
//   L4  asleep_ = false
//
// L1, L2, P1 and P2 are sequentially consistent, so that all threads see them in one order. In it either P1
// is before L2, and the loop finds the post and does not wait; or L2 is before P1, then L1 is before P2, and
// the poster finds the loop asleep and signals. The signal stays in the kernel until the loop waits for it,
// so it does not matter whether L3 has begun. Weaker orders would let both sides miss each other: the lost
// wake-up.
//
// P3 is one exchange: of many posters at once one pays for the system call. A signal that comes when the loop
// has already woken for another reason costs it one empty turn. The loop's stop request follows the same
// protocol with its own flag in the place of `newest_`.
//
// The descriptor is watched edge-triggered and is never read: each write is an edge of its own.
class Mailbox {
 public:
  static Result<std::unique_ptr<Mailbox>> create();
  explicit Mailbox(Descriptor signal) noexcept : signal_(std::move(signal)) {}
  ~Mailbox() { drop(); }

  /// P1 to P3. Thread: any.
  void post(UniqueFunction<void()> work);
  /// P2 and P3, for whoever did its own P1. Thread: any.
  void wake() noexcept;

  /// Runs what was posted before this call, in order. Returns how much.
  std::size_t run();
  /// Whether run() would find something, as far as this thread has heard.
  bool has_posts() const noexcept { return newest_.load(std::memory_order_relaxed) != nullptr; }
  /// Destroys what was posted, and what that posts.
  void drop() noexcept;

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

 private:
  struct Post {
    UniqueFunction<void()> work;
    Post* next;
  };
  Post* take_all() noexcept;

  alignas(64) std::atomic<Post*> newest_{nullptr};
  std::atomic<bool> asleep_{false};
  std::atomic<std::uint64_t> wakeups_{0};
  Descriptor signal_;
  const ForkMark made_in_;
};

}  // namespace weft::detail
