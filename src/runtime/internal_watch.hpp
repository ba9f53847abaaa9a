// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/descriptor.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft {

/// A descriptor whose only purpose is to end the loop's wait; what it means is looked at anyway in every
/// turn.
class Loop::InternalWatch final : public detail::FdWatch {
 public:
  InternalWatch() noexcept { internal_ = true; }
  explicit InternalWatch(detail::Descriptor owned) noexcept : InternalWatch() { owned_ = std::move(owned); }
  /// A timer that went off says so once: whoever was not due yet by our clock needs it again.
  void on_ready(detail::Readiness) override { set_to = TimePoint::max(); }
  int descriptor() const noexcept { return owned_.get(); }

  /// Time for the timer's descriptor: what it was last set to, and max() when it is off or went off.
  TimePoint set_to = TimePoint::max();

 private:
  detail::Descriptor owned_;
};

}  // namespace weft
