// SPDX-License-Identifier: Apache-2.0
#include "raw/poller.hpp"

#include <sys/prctl.h>

#include <algorithm>
#include <ctime>

#include "load/cpu.hpp"
#include "weft/detail/base/assert.hpp"

namespace weft::raw {

Poller::Poller(load::LoopMode mode) : mode_(mode), epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  WEFT_ASSERT(static_cast<bool>(epoll_), "the process has no file descriptors left");
  // The kernel may add 50 us to a timed sleep otherwise, which an open loop would measure as latency.
  prctl(PR_SET_TIMERSLACK, 1UL);
}

void Poller::add(int fd, std::uint32_t events, void* owner) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = owner;
  epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
}

void Poller::modify(int fd, std::uint32_t events, void* owner) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = owner;
  epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
}

void Poller::remove(int fd) {
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

std::span<const epoll_event> Poller::wait(std::int64_t limit_ns) {
  switch (mode_) {
    case load::LoopMode::kBusy:
      return poll_now();
    case load::LoopMode::kAdaptive:
      return spin_then_sleep(limit_ns);
    case load::LoopMode::kWait:
      break;
  }
  return sleep(limit_ns);
}

std::span<const epoll_event> Poller::poll_now() {
  const int count = epoll_wait(epoll_.get(), events_.data(), static_cast<int>(events_.size()), 0);
  return {events_.data(), static_cast<std::size_t>(std::max(count, 0))};
}

std::span<const epoll_event> Poller::sleep(std::int64_t limit_ns) {
  if (limit_ns == kForever) {
    const int count = epoll_wait(epoll_.get(), events_.data(), static_cast<int>(events_.size()), -1);
    return {events_.data(), static_cast<std::size_t>(std::max(count, 0))};
  }
  timespec limit{};
  limit.tv_sec = std::max<std::int64_t>(limit_ns, 0) / 1'000'000'000;
  limit.tv_nsec = std::max<std::int64_t>(limit_ns, 0) % 1'000'000'000;
  const int count =
      epoll_pwait2(epoll_.get(), events_.data(), static_cast<int>(events_.size()), &limit, nullptr);
  return {events_.data(), static_cast<std::size_t>(std::max(count, 0))};
}

std::span<const epoll_event> Poller::spin_then_sleep(std::int64_t limit_ns) {
  auto ready = poll_now();
  if (!ready.empty()) return ready;
  const std::int64_t start_ns = load::now_ns();
  const std::int64_t spin_ns = std::min(kSpinNs, limit_ns);
  std::int64_t spun_ns = 0;
  while (spun_ns < spin_ns) {
    ready = poll_now();
    if (!ready.empty()) return ready;
    spun_ns = load::now_ns() - start_ns;
  }
  return sleep(limit_ns == kForever ? kForever : limit_ns - spun_ns);
}

}  // namespace weft::raw
