// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace weft {
class Loop;
}  // namespace weft

namespace weft::detail {

/// Events of a descriptor. `hangup`: the peer ended its side, or both sides have ended; bytes sent before may
/// still be readable. `error`: reading or writing returns it.
struct Readiness {
  bool readable = false;
  bool writable = false;
  bool hangup = false;
  bool error = false;
};

/// Interest in a descriptor: derive from it, then call Loop::watch(). Edge-triggered: after a report, the
/// next report follows only a new event, so read and write until the system returns EAGAIN. A report may be
/// spurious. Owned by the code that watches; unwatch (or destroy) it before the descriptor is closed. Thread:
/// the loop's.
class FdWatch {
 public:
  FdWatch() = default;
  FdWatch(const FdWatch&) = delete;
  FdWatch& operator=(const FdWatch&) = delete;

  /// Called in a turn of the loop. May unwatch or destroy this and any other watch.
  virtual void on_ready(Readiness readiness) = 0;
  /// Called after on_ready(), once the coroutines that it made ready have run, while reports on other
  /// descriptors are still to be processed in this turn: results of this report may be sent now.
  virtual void on_report_end() {}

  bool watched() const noexcept { return loop_ != nullptr; }

 protected:
  /// Key of the loop's own watches, whose reports end a sleep and do not count as work. Defined beside them,
  /// in src/runtime, so that no other code can create one.
  struct Internal;
  explicit FdWatch(const Internal&) noexcept : internal_(true) {}
  ~FdWatch();
  /// Makes its owner decide whether a report counts as Company; otherwise each report does.
  void tell_company() noexcept { tells_company_ = true; }

 private:
  friend class weft::Loop;

  Loop* loop_ = nullptr;
  std::uint64_t token_ = 0;
  int fd_ = -1;
  bool tells_company_ = false;
  const bool internal_ = false;
};

}  // namespace weft::detail
