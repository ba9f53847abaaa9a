// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/descriptor.hpp"
#include "weft/runtime/loop.hpp"

namespace weft {

/// A descriptor whose only purpose is to end the loop's wait; what it means is looked at anyway in every
/// turn.
class Loop::InternalWatch final : public FdWatch {
 public:
  InternalWatch() noexcept { internal_ = true; }
  explicit InternalWatch(detail::Descriptor owned) noexcept : InternalWatch() { owned_ = std::move(owned); }
  /// A timer that went off says so once: whoever was not due yet by our clock needs it again.
  void on_ready(Readiness) override { set_to = TimePoint::max(); }
  int descriptor() const noexcept { return owned_.get(); }

  /// For the timer's descriptor: what it was last set to, and max() when it is off or went off.
  TimePoint set_to = TimePoint::max();

 private:
  detail::Descriptor owned_;
};

/// A poller, and the watch on its descriptor, which may fire for nothing: what there is, poll() finds. One
/// that is removed stays as an empty place until no one walks the list.
class Loop::AddedPoller final : public FdWatch {
 public:
  explicit AddedPoller(Poller& poller) noexcept : poller_(&poller) { internal_ = true; }

  std::size_t poll() {
    const std::size_t handled = poller_->poll();
    if (handled > 0) looked_again_ = false;
    return handled;
  }
  bool arm() { return removed() || (watched() && poller_->arm() && !must_look_again()); }
  bool is(const Poller& poller) const noexcept { return poller_ == &poller; }
  bool removed() const noexcept { return is(no_poller()); }
  void remove() noexcept { poller_ = &no_poller(); }
  void on_ready(Readiness) override {}

  AddedPoller* next = nullptr;

 private:
  // In the place of one that was removed, so that asking does not have to look.
  static Poller& no_poller() noexcept;
  // The descriptor reports only that it became readable, and a library may count on being told as long as it
  // is. So one that is readable when we want to sleep has its poller asked once more.
  bool must_look_again() noexcept;

  Poller* poller_;
  bool looked_again_ = false;
};

}  // namespace weft
