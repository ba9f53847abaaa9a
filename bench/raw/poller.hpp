// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/epoll.h>

#include <array>
#include <cstdint>
#include <span>

#include "load/options.hpp"
#include "raw/socket.hpp"

namespace weft::raw {

/// epoll and the way a thread waits for it. Level-triggered. Thread: one.
class Poller {
 public:
  static constexpr std::int64_t kForever = INT64_MAX;
  static constexpr std::int64_t kSpinNs = 50'000;

  explicit Poller(load::LoopMode mode);

  /// `owner` comes back with each event.
  void add(int fd, std::uint32_t events, void* owner);
  void modify(int fd, std::uint32_t events, void* owner);
  void remove(int fd);

  /// The next events, valid until the next call. None when `limit_ns` has passed, or at once in busy mode.
  std::span<const epoll_event> wait(std::int64_t limit_ns = kForever);

 private:
  std::span<const epoll_event> poll_now();
  std::span<const epoll_event> sleep(std::int64_t limit_ns);
  std::span<const epoll_event> spin_then_sleep(std::int64_t limit_ns);

  load::LoopMode mode_;
  Fd epoll_;
  std::array<epoll_event, 512> events_;
};

}  // namespace weft::raw
