// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace weft {

struct ServerStats;

}  // namespace weft

namespace weft::detail {

/// A server as its operators see it. Thread: any, while the server exists.
class ServerView {
 public:
  /// Returns the counters of all loops. Throws std::bad_alloc.
  virtual ServerStats stats() const = 0;
  /// The server takes no new connections: stop() was called.
  virtual bool is_draining() const noexcept = 0;

 protected:
  ~ServerView() = default;
};

}  // namespace weft::detail
