// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "weft/detail/base/result.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/runtime/fd_watch.hpp"

namespace weft::detail {

struct FdEvent {
  std::uint64_t token;
  Readiness readiness;
};

/// Receives descriptor events from the kernel, edge-triggered. A token is the caller's name for a watch: its
/// lower half is a small index that is reused, its upper half makes it unique. Thread: the loop's.
class FdPoller {
 public:
  /// Most events of one wait(). Fewer mean that there are no more; the oldest come first.
  static constexpr std::size_t kEventsPerWait = 256;

  virtual ~FdPoller() = default;

  virtual Result<void> watch(int fd, std::uint64_t token) = 0;
  /// Reports fetched before may still carry the token; none is fetched after.
  virtual void unwatch(int fd, std::uint64_t token) noexcept = 0;
  /// Waits at most `timeout`, not at all for zero, without end for Duration::max(). Never ends early for the
  /// time alone, may for no reason. The events are valid until the next wait().
  virtual std::span<const FdEvent> wait(Duration timeout) = 0;
  /// Passes changes to the kernel now instead of at the next wait().
  virtual void flush() noexcept {}
  /// Readable when wait() would bring something, after a flush().
  virtual int descriptor() const noexcept = 0;
};

Result<std::unique_ptr<FdPoller>> make_epoll_poller();
/// Errors: kUnimplemented when this build has no io_uring, otherwise the kernel's refusal.
Result<std::unique_ptr<FdPoller>> make_uring_poller();
bool built_with_uring() noexcept;

/// Translates a poll mask; both kernel interfaces share the bits.
Readiness readiness_of(std::uint32_t poll_mask) noexcept;

}  // namespace weft::detail
