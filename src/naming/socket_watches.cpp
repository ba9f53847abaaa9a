// SPDX-License-Identifier: Apache-2.0
#include "naming/socket_watches.hpp"

#include <poll.h>

#include <vector>

namespace weft::detail {

void SocketWatches::set(int fd, bool want_read, bool want_write) {
  if (!want_read && !want_write) {
    watched_.erase(fd);
    return;
  }
  auto& watch = watched_[fd];
  if (!watch) {
    watch = std::make_unique<Watched>(*this, fd);
    // A socket that cannot be watched is as one that is never ready: the library's timeout ends it.
    (void)loop_.watch(*watch, fd);
  }
  watch->events = static_cast<short>((want_read ? POLLIN : 0) | (want_write ? POLLOUT : 0));
  // A newly wanted event may have been possible, and reported, before.
  if (!armed()) loop_.arm(*this, loop_.now());
}

void SocketWatches::on_timer() {
  std::vector<int> all;
  all.reserve(watched_.size());
  for (const auto& [fd, watch] : watched_) all.push_back(fd);
  for (const int fd : all) serve(fd);
}

void SocketWatches::serve(int fd) {
  constexpr int kRoundsMax = 32;
  for (int round = 0; round < kRoundsMax; ++round) {
    const auto found = watched_.find(fd);
    if (found == watched_.end()) return;
    pollfd asked{.fd = fd, .events = found->second->events, .revents = 0};
    if (::poll(&asked, 1, 0) <= 0) return;
    const bool broken = (asked.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0;
    const bool readable = (asked.revents & POLLIN) != 0 || (broken && (asked.events & POLLIN) != 0);
    const bool writable = (asked.revents & POLLOUT) != 0 || (broken && (asked.events & POLLOUT) != 0);
    on_ready_(fd, readable, writable);
  }
  if (!armed()) loop_.arm(*this, loop_.now());
}

}  // namespace weft::detail
