// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace weft {

class Loop;

namespace detail {
class CallTarget;
}  // namespace detail

/// An object that makes calls, with any number of connections behind it: base of CallClient, CallPool and
/// CallPeer, and the parameter type of stubs. Thread, life: see the derived class.
class Caller {
 public:
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  /// Returns the loop that it belongs to.
  Loop& loop() const;
  /// The seam for layers above this one, which make calls with bodies of their own: see AwaitedCall.
  detail::CallTarget& target() const { return *target_; }

 protected:
  Caller() = default;
  ~Caller() = default;
  /// Sets whom it calls, while it is made or assigned; `target` lives as long as this, or as it has no other.
  void set_target(detail::CallTarget& target) { target_ = &target; }

 private:
  detail::CallTarget* target_ = nullptr;
};

}  // namespace weft
