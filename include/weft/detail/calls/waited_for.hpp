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
  Ready* waiter() const { return waiter_; }

 protected:
  ~WaitedFor() = default;

 private:
  Ready* waiter_ = nullptr;
};

}  // namespace weft::detail
