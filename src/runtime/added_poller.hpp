// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "runtime/internal_watch.hpp"
#include "weft/detail/runtime/fd_watch.hpp"
#include "weft/detail/runtime/poller.hpp"
#include "weft/detail/runtime/poller_chain.hpp"

namespace weft::detail {

/// A poller, and the watch on its descriptor, which may fire spuriously: poll() finds the events. A removed
/// one stays as an empty entry until no one iterates over the list.
class AddedPoller final : public FdWatch {
 public:
  explicit AddedPoller(Poller& poller) noexcept
      : FdWatch(Internal{}),
        poller_(&poller),
        woken_elsewhere_(poller.descriptor() == Poller::kWokenElsewhere) {}

  std::size_t poll() {
    const std::size_t handled = poller_->poll();
    if (handled > 0) looked_again_ = false;
    return handled;
  }
  bool arm() {
    if (woken_elsewhere_) return poller_->arm();
    return removed() || (watched() && poller_->arm() && !must_look_again());
  }
  Duration patience() const { return poller_->patience(); }
  bool is(const Poller& poller) const noexcept { return poller_ == &poller; }
  bool removed() const noexcept { return is(no_poller()); }
  void remove() noexcept { poller_ = &no_poller(); }
  void on_ready(Readiness) override {}

  AddedPoller* next = nullptr;

 private:
  // In the place of one that was removed, so that asking does not have to look.
  static Poller& no_poller() noexcept;
  // The descriptor reports only the edge at which it became readable, but a library may rely on
  // level-triggered notification. So if it is readable when the loop wants to sleep, its poller is polled
  // once more.
  bool must_look_again() noexcept;

  Poller* poller_;
  const bool woken_elsewhere_;
  bool looked_again_ = false;
};

// A poller that is asked may add and remove others.
[[gnu::always_inline]] inline std::size_t PollerChain::ask() {
  std::size_t handled = 0;
  AddedPoller* added = first_;
  do handled += added->poll();
  while ((added = added->next) != nullptr);
  return handled;
}

}  // namespace weft::detail
