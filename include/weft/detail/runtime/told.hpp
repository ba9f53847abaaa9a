// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace weft::detail {

/// Completion handler on any executor: receives the end of a loop's work once.
class Told {
 public:
  /// May destroy this object, and the completed work with it. Thread: the loop's in a turn, the thread that
  /// ends the loop, or the thread that began the wait, from within that call.
  virtual void told() noexcept = 0;

 protected:
  ~Told() = default;
};

/// The right to notify a Told, which belongs to the first that claims it: the loop that has ended the work,
/// or the code that gives the work up and need not wait for the loop.
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
