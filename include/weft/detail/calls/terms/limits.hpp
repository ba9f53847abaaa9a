// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "weft/detail/base/time.hpp"

namespace weft {

/// Every limit and waiting time of calls. Each is checked before memory is taken for the limited object. The
/// same struct serves server and client; each side enforces its own. Waiting times are above zero; zero bytes
/// mean none, where zero is allowed. Invalid values are refused with kInvalidArgument by Server::start(), and
/// by every call of a client.
struct RpcLimits {
  /// Largest body of a request or an answer, headers and attachments not counted. Client and server both keep
  /// to their own: raise it on both sides. Above zero.
  std::uint32_t body_bytes_max = 16u << 20;
  /// Largest attachment that is received.
  std::uint64_t attachment_bytes_max = std::uint64_t{4} << 30;
  /// An answer's attachment larger than this is received only into a buffer that the caller named.
  std::uint64_t unrequested_attachment_bytes_max = 16u << 20;
  /// Limit of the memory that the calls of one connection hold at the same time: their records, bodies kept
  /// by handlers (for a large body the chunk that it was received into, a third more at most) and
  /// attachments. Announced attachments may not exceed it either.
  std::size_t connection_memory_max = std::size_t{8} << 30;
  /// The same limit for all connections of a server, including the arrived parts of incomplete requests; one
  /// connection may hold at most eight times the memory that is free at that moment. Announcements take
  /// nothing. For a client: the memory of answers' attachments that landed in the library's memory, until
  /// their Buffers end.
  std::size_t process_memory_max = std::size_t{16} << 30;
  /// Queued output of a connection above which producers wait.
  std::size_t outbox_high_water = 4u << 20;
  /// Requests of one connection that a server works on at the same time; also what a client keeps in flight.
  /// Above zero.
  std::uint32_t calls_in_flight_max = 65536;
  /// Window of one stream: the items that the other side may have sent and this side not have read, in bytes
  /// with 40 for each item; one item may exceed it. Arrived items count in process_memory_max. Above zero.
  std::uint32_t stream_window = 2u << 20;
  /// Streams that one connection may have open on this side; they are among its calls in flight.
  std::uint32_t streams_max = 32768;
  /// Calls of a client that may wait for a connection or for room. Zero: none waits, so a client connects by
  /// connect() before it calls.
  std::size_t calls_waiting_max = 1u << 20;
  /// Bytes a second that this side sends of attachments on one connection, at most; zero: no limit. Small
  /// attachments (CallOptions::attachment_rate) and everything else pass, and are not counted.
  std::uint64_t attachment_rate_max = 0;

  /// Longest time without progress inside a hello, a frame's head or an attachment. Progress is its
  /// completion, or 64 KiB more of a body or an attachment (of an attachment over 64 MiB, a 1024th part). A
  /// late peer loses the connection; for a request's attachment in pieces, only its call.
  Duration frame_timeout = std::chrono::seconds{10};
  /// Time from the connection to the peer's whole hello.
  Duration hello_timeout = std::chrono::seconds{10};
  /// Time for which a peer may leave queued bytes untaken.
  Duration stall_timeout = std::chrono::seconds{30};
  /// A connection on which nothing arrived for this long is pinged; after as long again without a byte it is
  /// dead. Zero switches pings off.
  Duration ping_interval = std::chrono::seconds{10};
};

}  // namespace weft
