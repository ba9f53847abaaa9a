// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "weft/detail/base/time.hpp"

namespace weft {

/// A source of events that has to be asked, such as a UCX worker or a verbs completion queue.
/// Thread: its loop's.
class Poller {
 public:
  /// Value of descriptor(): the poller's events wake the loop by watches of its own.
  static constexpr int kWokenElsewhere = -2;

  /// Handles pending events, or a part of them, without waiting. Returns their number; zero means that
  /// nothing is left, and only then is arm() called. May add and remove pollers, itself too.
  virtual std::size_t poll() = 0;
  /// Requests a notification of the next event through descriptor(). False: an event is pending already, do
  /// not sleep.
  virtual bool arm() = 0;
  /// Becomes readable when an event happens after arm(); constant as long as the poller is added. It is
  /// watched edge-triggered and never read by the loop; it may be an epoll descriptor, and may become
  /// readable spuriously. -1 without a descriptor: the loop then never sleeps. Or kWokenElsewhere.
  virtual int descriptor() const = 0;
  /// Returns the maximum time from a successful arm() to the next poll without an event of descriptor().
  virtual Duration patience() const { return Duration::max(); }

 protected:
  ~Poller() = default;
};

}  // namespace weft
