// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "weft/detail/base/time.hpp"

namespace weft {

/// A source of events that has to be asked, such as a UCX worker or a verbs completion queue.
/// Thread: its loop's.
class Poller {
 public:
  /// Handles pending events, or a part of them, without waiting. Returns their number; zero means that
  /// nothing is left, and only then is arm() called. May add and remove pollers, itself too.
  virtual std::size_t poll() = 0;
  /// Asks to be told of the next event through descriptor(). False: something is there already, do not sleep.
  virtual bool arm() = 0;
  /// Becomes readable when something happens after arm(); the same as long as the poller is added. It is
  /// watched edge-triggered and never read by the loop; it may be an epoll descriptor, and may become
  /// readable for nothing. It is -1 when there is none: the loop then never sleeps.
  virtual int descriptor() const = 0;
  /// Asks, when arm() said true, to be asked again after so long although descriptor() told nothing.
  virtual Duration patience() const { return Duration::max(); }

 protected:
  ~Poller() = default;
};

}  // namespace weft
