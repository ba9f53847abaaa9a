// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace weft::detail {

/// Somebody who waits, on whatever executor, for what a loop does, and is told once that it has ended.
class Told {
 public:
  /// May end this object, and what it waited for with it. Thread: the loop's in a turn, the one that ends the
  /// loop, or the one that began the waiting, from within that.
  virtual void told() noexcept = 0;

 protected:
  ~Told() = default;
};

/// The right to tell a Told, which goes to whoever claims it first: the loop that has ended the work, or who
/// gives the work up and need not wait for the loop.
class RightToTell {
 public:
  /// Called before the work can end.
  void give_to(Told& who) noexcept { who_ = &who; }
  /// True once.
  bool claim() noexcept { return !claimed_.exchange(true, std::memory_order_acq_rel); }
  void tell() noexcept {
    if (claim()) who_->told();
  }

 private:
  Told* who_ = nullptr;
  std::atomic<bool> claimed_{false};
};

}  // namespace weft::detail
