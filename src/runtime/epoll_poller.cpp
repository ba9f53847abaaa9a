// SPDX-License-Identifier: Apache-2.0
#include <sys/epoll.h>

#include <array>
#include <cerrno>
#include <climits>
#include <ctime>

#include "runtime/descriptor.hpp"
#include "runtime/fd_poller.hpp"
#include "weft/detail/base/fork_mark.hpp"

namespace weft::detail {

namespace {

constexpr std::uint32_t kInterest = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;

timespec to_timespec(Duration duration) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(duration);
  return {.tv_sec = seconds.count(), .tv_nsec = (duration - seconds).count()};
}

// For kernels before epoll_pwait2: whole milliseconds, rounded up so that no timer is woken for in vain.
int to_milliseconds(Duration duration) {
  if (duration >= std::chrono::milliseconds{INT_MAX}) return duration == Duration::max() ? -1 : INT_MAX;
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(duration).count());
}

class EpollPoller final : public FdPoller {
 public:
  explicit EpollPoller(Descriptor epoll) noexcept : epoll_(std::move(epoll)) {}

  Result<void> watch(int fd, std::uint64_t token) override {
    epoll_event event{.events = kInterest, .data = {.u64 = token}};
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0) return {};
    return errno_status(Layer::kRuntime, "watching a descriptor", errno);
  }

  void unwatch(int fd, std::uint64_t) noexcept override {
    if (made_in_.in_child()) return;  // the interest is the parent's too
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
  }

  std::span<const FdEvent> wait(Duration timeout) override {
    int fetched = fetch(timeout);
    // A wait is also interrupted when the process is stopped, and events may have come until it goes on.
    if (fetched < 0) [[unlikely]] {
      fetched = fetch(Duration::zero());
    }
    const std::size_t count = fetched > 0 ? static_cast<std::size_t>(fetched) : 0;
    for (std::size_t i = 0; i < count; ++i) {
      events_[i] = {fetched_[i].data.u64, readiness_of(fetched_[i].events)};
    }
    return {events_.data(), count};
  }

  int descriptor() const noexcept override { return epoll_.get(); }

 private:
  int fetch(Duration timeout) {
    if (timeout <= Duration::zero())
      return ::epoll_wait(epoll_.get(), fetched_.data(), static_cast<int>(kEventsPerWait), 0);
    if (exact_timeouts_) {
      const timespec limit = to_timespec(timeout);
      const int fetched = ::epoll_pwait2(epoll_.get(), fetched_.data(), static_cast<int>(kEventsPerWait),
                                         timeout == Duration::max() ? nullptr : &limit, nullptr);
      if (fetched >= 0 || errno != ENOSYS) return fetched;
      exact_timeouts_ = false;
    }
    return ::epoll_wait(epoll_.get(), fetched_.data(), static_cast<int>(kEventsPerWait),
                        to_milliseconds(timeout));
  }

  const ForkMark made_in_;
  Descriptor epoll_;
  bool exact_timeouts_ = true;
  std::array<epoll_event, kEventsPerWait> fetched_;
  std::array<FdEvent, kEventsPerWait> events_;
};

}  // namespace

Result<std::unique_ptr<FdPoller>> make_epoll_poller() {
  Descriptor epoll{::epoll_create1(EPOLL_CLOEXEC)};
  if (!epoll) return errno_status(Layer::kRuntime, "making an epoll descriptor", errno);
  return std::unique_ptr<FdPoller>{std::make_unique<EpollPoller>(std::move(epoll))};
}

Readiness readiness_of(std::uint32_t poll_mask) noexcept {
  return {.readable = (poll_mask & EPOLLIN) != 0,
          .writable = (poll_mask & EPOLLOUT) != 0,
          .hangup = (poll_mask & (EPOLLRDHUP | EPOLLHUP)) != 0,
          .error = (poll_mask & EPOLLERR) != 0};
}

}  // namespace weft::detail
