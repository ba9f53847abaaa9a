// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "calls/terms/call_samples.hpp"

namespace weft {

class Logger;
struct ServerStats;

}  // namespace weft

namespace weft::detail {

/// Samples of calls of all loops.
struct ServedCallSamples {
  std::vector<CallSample> slow{};
  std::vector<CallSample> failed{};
  /// Duration from which on a call is slow.
  Duration slow_from{};
};

/// A server as its operators see it. Thread: any, while the server exists.
class ServerView {
 public:
  /// Returns the counters of all loops. Throws std::bad_alloc.
  virtual ServerStats stats() const = 0;
  /// Returns samples of calls, the latest first. Throws std::bad_alloc.
  virtual ServedCallSamples samples() const = 0;
  /// The server takes no new connections: stop() was called.
  virtual bool is_draining() const noexcept = 0;
  /// Returns the logger that the server writes to.
  virtual Logger& log() const noexcept = 0;

 protected:
  ~ServerView() = default;
};

}  // namespace weft::detail
