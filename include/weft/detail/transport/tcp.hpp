// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "weft/detail/base/log.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/transport/transport.hpp"

namespace weft {

/// Options of TCP and Unix sockets. Zero leaves a setting to the system, unless it says otherwise.
struct TcpOptions {
  /// Congestion control by its name in the kernel, "cubic"; a name that the kernel does not know fails.
  std::string congestion{};
  /// A silent peer is asked after `keepalive_idle`, then every `keepalive_interval`, and given up after
  /// `keepalive_count` questions. The times are whole seconds; an idle time of zero asks never.
  Duration keepalive_idle = std::chrono::seconds{30};
  Duration keepalive_interval = std::chrono::seconds{5};
  int keepalive_count = 3;
  /// Time for which sent bytes may stay unacknowledged before the connection breaks; whole milliseconds.
  Duration user_timeout{};
  /// Sizes of the kernel's buffers. Setting one switches its automatic growth off.
  int send_buffer_bytes = 0;
  int receive_buffer_bytes = 0;
  /// Number of connections that may wait to be accepted.
  int backlog = 4096;
  /// Several listeners may bind one port, and the kernel spreads the peers over them.
  bool reuse_port = false;
  /// A listener on a Unix path takes the path over from a server that still listens there, in one step: a
  /// server may be started before the one that it replaces is stopped. The other keeps its connections.
  /// Without it the path is in use (EADDRINUSE) until the other has stopped listening, which is the first
  /// step of its stop().
  bool take_over = false;
  /// Receives the reasons why a listener cannot accept, at most once a second. Must outlive the transport and
  /// its listeners.
  Logger* logger = &stderr_logger();
};

namespace detail {

/// The transport of tcp://host:port, tcp://[::1]:port and unix:///path.
///
/// Numeric addresses and "localhost" need no resolver; any other name is resolved by the system on a thread
/// of its own, for which a caller that gave up does not wait. Of several addresses the first that answers is
/// used: they are tried alternating between address families, 250 ms apart (RFC 8305). A Unix socket file
/// without a listener is removed before binding to its path; at its end a listener removes its own file, and
/// no other that has taken the path meanwhile.
std::unique_ptr<Transport> make_tcp_transport(TcpOptions options = {});

}  // namespace detail

}  // namespace weft
