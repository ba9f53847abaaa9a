// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/runtime/poller.hpp"

namespace weft {

/// A poller, and the watch on its descriptor, which may fire for nothing: what there is, poll() finds. One
/// that is removed stays as an empty place until no one walks the list.
class Loop::AddedPoller final : public detail::FdWatch {
 public:
  explicit AddedPoller(Poller& poller) noexcept : poller_(&poller) { internal_ = true; }

  std::size_t poll() {
    const std::size_t handled = poller_->poll();
    if (handled > 0) looked_again_ = false;
    return handled;
  }
  bool arm() { return removed() || (watched() && poller_->arm() && !must_look_again()); }
  Duration patience() const { return poller_->patience(); }
  bool is(const Poller& poller) const noexcept { return poller_ == &poller; }
  bool removed() const noexcept { return is(no_poller()); }
  void remove() noexcept { poller_ = &no_poller(); }
  void on_ready(detail::Readiness) override {}

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
