// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace weft::load {

/// Waits for SIGTERM or SIGINT instead of being killed by them. Make it before any thread is started: threads
/// inherit the blocked signals, so that only `wait` sees them.
class StopSignal {
 public:
  StopSignal();
  /// Blocks the calling thread until one of the signals comes.
  void blocking_wait();
};

}  // namespace weft::load
