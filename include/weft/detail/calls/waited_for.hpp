// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace weft::detail {

class Ready;

/// Something with an end that somebody waits for: a base class that knows the node.
class WaitedFor {
 public:
  /// Sets the node that is scheduled at the end, a coroutine's Resumption or another; at most one, which may
  /// change or be taken back until then. Null: nobody waits.
  void set_waiter(Ready* waiter) { waiter_ = waiter; }
  /// Takes `waiter` back, unless another one was set.
  void take_waiter_back(const Ready& waiter) {
    if (waiter_ == &waiter) waiter_ = nullptr;
  }
  bool has_waiter() const { return waiter_ != nullptr; }

 protected:
  ~WaitedFor() = default;
  Ready* waiter() const { return waiter_; }

 private:
  Ready* waiter_ = nullptr;
};

}  // namespace weft::detail
