// SPDX-License-Identifier: Apache-2.0
#include "runtime/added_poller.hpp"

#include <poll.h>

#include <utility>

namespace weft::detail {

namespace {

// Never finds an event.
class NoPoller final : public Poller {
 public:
  std::size_t poll() override { return 0; }
  bool arm() override { return true; }
  int descriptor() const override { return -1; }
};

}  // namespace

bool AddedPoller::must_look_again() noexcept {
  pollfd question{.fd = poller_->descriptor(), .events = POLLIN, .revents = 0};
  return ::poll(&question, 1, 0) > 0 && !std::exchange(looked_again_, true);
}

Poller& AddedPoller::no_poller() noexcept {
  static constinit NoPoller none;
  return none;
}

}  // namespace weft::detail
