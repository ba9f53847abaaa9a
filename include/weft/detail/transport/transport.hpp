// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>

#include "weft/detail/base/result.hpp"
#include "weft/detail/base/unique_function.hpp"
#include "weft/detail/coro/task.hpp"
#include "weft/detail/transport/connection.hpp"
#include "weft/detail/transport/memory_lease.hpp"
#include "weft/detail/transport/url.hpp"

namespace weft::detail {

/// A peer that has just connected, before a loop was chosen for it. May move to another thread.
class Incoming {
 public:
  virtual ~Incoming() = default;
  /// Makes the carrier on which the connection begins, on `loop`, whose thread must be the calling one. Adds
  /// the carriers that the listener offers to `options`. At most once.
  virtual Result<std::unique_ptr<BaseCarrier>> adopt(Loop& loop, ConnectionOptions& options) = 0;
  virtual std::string remote_endpoint() const = 0;

  /// Adopts the peer, and makes a connection of Weft's own protocol.
  Result<std::unique_ptr<Connection>> adopt_connection(Loop& loop, ConnectionOptions options = {}) {
    Result<std::unique_ptr<BaseCarrier>> carrier = adopt(loop, options);
    if (!carrier.ok()) return std::move(carrier).status();
    return std::make_unique<Connection>(loop, options, *std::move(carrier));
  }
};

/// Accepts peers on one loop. Destroying it stops it.
class Listener {
 public:
  virtual ~Listener() = default;
  /// Returns where it really listens, with the port the system chose for port 0.
  virtual Url local_url() const = 0;
  /// Begins to pass peers to `on_incoming`, on the listener's loop. An obstacle to accepting, such as a lack
  /// of descriptors, pauses it for less than a second at a time, as long as it lasts, and is reported through
  /// the logger at most once a second.
  virtual void start(UniqueFunction<void(std::unique_ptr<Incoming>)> on_incoming) = 0;
};

struct ConnectOptions {
  Deadline deadline{};
  /// Local address to bind before connecting, empty = any ("127.0.0.2", "127.0.0.2:4000").
  std::string local_address{};
  ConnectionOptions connection{};
};

/// A way to reach peers, chosen by the scheme of a URL. Composed by main (or by the front door); immutable
/// after that, so every thread may use it.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual bool handles(std::string_view scheme) const = 0;
  virtual Result<std::unique_ptr<Listener>> listen(Loop& loop, const Url& url) = 0;
  /// Cancel: total. Errors: kUnavailable with errno, kDeadlineExceeded, kInvalidArgument.
  virtual Task<Result<std::unique_ptr<Connection>>> connect(Loop& loop, Url url, ConnectOptions options) = 0;
  /// Lets attachments of connections of `url`, to it or from its listener, be sent from `memory` and land in
  /// it without a copy, where that is possible; empty where it is not. Takes as long as pinning the memory.
  /// Errors: kResourceExhausted when the system does not allow so large an area to be pinned (the text has
  /// advice).
  virtual Result<MemoryLease> register_memory(const Url& url, MutableBytes memory) {
    static_cast<void>(url);
    static_cast<void>(memory);
    return MemoryLease{};
  }
};

}  // namespace weft::detail
