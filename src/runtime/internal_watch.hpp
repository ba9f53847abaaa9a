// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/descriptor.hpp"
#include "weft/runtime/loop.hpp"

namespace weft {

/// A descriptor whose only purpose is to end the loop's wait; what it means is looked at anyway in every
/// turn.
class Loop::InternalWatch final : public FdWatch {
 public:
  InternalWatch() = default;
  explicit InternalWatch(detail::Descriptor owned) noexcept : owned_(std::move(owned)) {}
  void on_ready(Readiness) override {}
  int descriptor() const noexcept { return owned_.get(); }

  /// For the timer's descriptor: what it was last set to, and max() when it is off or went off.
  TimePoint set_to = TimePoint::max();

 private:
  detail::Descriptor owned_;
};

/// A poller, and the watch on its descriptor. One that is removed inside a turn stays as an empty place until
/// no one walks the list.
class Loop::AddedPoller final : public FdWatch {
 public:
  explicit AddedPoller(Poller& poller) noexcept : poller_(&poller) {}

  std::size_t poll() { return poller_ == nullptr ? 0 : poller_->poll(); }
  bool arm() { return poller_ == nullptr || (watched() && poller_->arm()); }
  bool is(const Poller& poller) const noexcept { return poller_ == &poller; }
  bool removed() const noexcept { return poller_ == nullptr; }
  void remove() noexcept { poller_ = nullptr; }
  void on_ready(Readiness) override {}

 private:
  Poller* poller_;
};

}  // namespace weft
