// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "calls/terms/counted_connection.hpp"
#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/base/log.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/calls/terms/limits.hpp"
#include "weft/detail/transport/base_carrier.hpp"

namespace weft {
class Loop;
}  // namespace weft

namespace weft::detail {

struct CallsHost;
class ServedConnection;
class ServerView;
struct ServedConnectionTag;

/// Owns connections of protocols other than Weft's. Thread: their loop.
class ServedConnectionOwner {
 public:
  /// `connection` has ended; its last callback. The owner destroys it later, outside of its callbacks.
  virtual void on_connection_closed(ServedConnection& connection, const Status& why) = 0;

 protected:
  ~ServedConnectionOwner() = default;
};

/// A connection on which a server serves calls by a protocol other than Weft's. It admits and runs them by
/// ServedCalls, and is the AnswerSink of its calls. Thread: its loop's. May be destroyed at any time outside
/// of its callbacks.
class ServedConnection : public ListHook<ServedConnectionTag>, public CountedConnection {
 public:
  virtual ~ServedConnection() = default;
  /// Begins to receive. `received` are bytes that the carrier gave before. Once.
  virtual void start(Bytes received) = 0;
  /// Takes no further calls, and ends once the calls in flight have been answered.
  virtual void drain() = 0;
  /// Ends soon: calls in flight are cancelled, and their callers learn of `why` if the protocol can tell.
  virtual void close(const Status& why) = 0;
  virtual std::string remote_endpoint() const = 0;
};

/// Parameters of a ServedConnection; everything that they refer to outlives it.
struct ServedConnectionSetup {
  Loop& loop;
  ServedConnectionOwner& owner;
  CallsHost& host;
  const RpcLimits& limits;
  Logger& logger;
  /// Identifies the connection within this process.
  std::uint64_t connection_id = 0;
  /// State that the connections of this protocol share on this loop of the server. Null at first: the
  /// protocol makes it. Outlives the connections.
  std::shared_ptr<void>& loop_state;
  const ServerView& server;
};

/// Result of a look at the first bytes of a connection.
enum class Recognized : std::uint8_t {
  kNo,    ///< the bytes are of another protocol
  kMore,  ///< more bytes are needed to tell
  kYes,
};

/// A protocol that a server speaks on its ports beside Weft's own. Immutable. Thread: any, several at a time.
class Protocol {
 public:
  /// Largest number of first bytes that a protocol may need to recognize itself.
  static constexpr std::size_t kFirstBytesMax = 24;

  virtual ~Protocol() = default;
  /// Name by which a TLS client selects the protocol (ALPN, RFC 7301).
  virtual std::string_view name() const = 0;
  /// Returns the fault of the protocol's options; ok if they make sense.
  virtual Status check() const { return {}; }
  /// Tells whether a connection that begins with `first`, from 1 to kFirstBytesMax bytes, speaks this
  /// protocol.
  virtual Recognized recognizes(Bytes first) const = 0;
  /// Makes a connection. Throws std::bad_alloc.
  virtual std::unique_ptr<ServedConnection> make(const ServedConnectionSetup& setup,
                                                 std::unique_ptr<BaseCarrier> carrier) const = 0;
};

}  // namespace weft::detail
