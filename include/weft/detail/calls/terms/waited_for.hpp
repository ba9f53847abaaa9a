// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace weft::detail {

class Ready;

/// Base class of an operation that a node waits for.
class WaitedFor {
 public:
  /// Sets the node to schedule at the end, such as a coroutine's Resumption; at most one, which may be
  /// replaced or removed until then. Null: no node waits.
  void set_waiter(Ready* waiter) { waiter_ = waiter; }
  /// Removes `waiter`, unless another one was set.
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
