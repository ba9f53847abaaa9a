// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/detail/base/log.hpp"
#include "weft/detail/transport/carrier_policy.hpp"
#include "weft/detail/transport/carrier_provider.hpp"
#include "weft/detail/transport/transport.hpp"

namespace weft {

/// Says how UCX treats a peer that fails. Both ends have to choose the same.
enum class UcxErrorMode : std::uint8_t {
  /// UCX can give up an endpoint: memory given to it returns at once. All connections of a loop share a
  /// worker.
  kPeer,
  /// UCX cannot give up an endpoint: memory given to an endpoint with a dead peer returns only with the end
  /// of its worker. So each connection has a worker of its own, which ends with it: milliseconds and some
  /// megabytes each.
  kNone,
};

/// Options for the use of UCX by connections. UCX's own environment variables still apply; these options take
/// precedence. UCX's own log goes to the logger of ucx::log_to() (weft/ucx.hpp).
struct UcxOptions {
  /// Policy of a client for tcp:// and unix:// URLs.
  CarrierPolicy connecting = CarrierPolicy::kForbid;
  /// Policy of a listener of a tcp:// or unix:// URL. A listener of a ucx:// URL offers UCX and serves
  /// peers without it all the same, unless this says kRequire.
  ///
  /// UCX believes the worker address that a peer sends: offer it only to peers that are trusted not to forge
  /// one.
  CarrierPolicy listening = CarrierPolicy::kForbid;
  /// Lets UCX use the networks of this host, and not only shared memory and the loopback device. On each
  /// device that it uses UCX accepts connections and messages from everyone who can reach it, as soon as
  /// there is one peer, without a handshake, a limit or a secret. So set this only where everyone who can
  /// reach the host is trusted; preferably also set `devices`.
  bool trusted_network = false;
  /// Transports and devices by UCX's names ("tcp", "posix", "cma", "rc"; "lo", "mlx5_0:1"); empty: UCX
  /// chooses. Names that this machine lacks are ignored as long as one exists. Without `trusted_network` the
  /// only device is "lo".
  std::vector<std::string> transports{};
  std::vector<std::string> devices{};
  /// More of UCX's settings by name, without "UCX_": {"RNDV_THRESH", "8k"}.
  std::vector<std::pair<std::string, std::string>> settings{};
  UcxErrorMode error_mode = UcxErrorMode::kPeer;
  /// Bytes that may be on their way to a side that does not take them.
  std::size_t window_bytes = 1024 * 1024;
  /// Frames are packed into active messages of up to this many bytes, which UCX sends by copying them.
  std::size_t message_bytes = 8 * 1024;
  /// Attachments, or parts of them, from this size on are read by the peer's UCX where they lie, and land
  /// where they are wanted (rendezvous).
  std::size_t rendezvous_bytes_min = 32 * 1024;
  /// Time that bringing UCX up may take, from the peer's hello on.
  Duration bring_up_timeout = std::chrono::seconds{5};
  /// Number of peers that each loop of a server brings up at the same time in UcxErrorMode::kNone, where each
  /// needs a worker before its first message; the others wait until their time is over. Above zero.
  std::size_t bring_ups_max = 16;
  /// Receives reports of messages that belong to no connection, at most once a second. Must outlive the
  /// transport.
  Logger* logger = &stderr_logger();
};

/// Errors: kInvalidArgument says which option cannot be.
Status check(const UcxOptions& options);

namespace detail {

/// Transports and devices that connections with some UcxOptions can use, as UCX prints them; for people.
struct UcxDescription {
  std::string resources;  ///< transports and devices
  std::string settings;   ///< those in effect, "UCX_NAME=value" lines
};

/// Makes a UCX context as the transport does, only to look at it. Errors: those of check(); kInvalidArgument
/// for a setting that UCX refuses, kFailedPrecondition when no device carries the transports.
Result<UcxDescription> describe_ucx(const UcxOptions& options = {});

/// The carrier of connections that go by UCX's active messages.
std::shared_ptr<const CarrierProvider> make_ucx_carriers(const UcxOptions& options = {});

/// The transport of ucx://host:port: connections that begin on `base`'s tcp://host:port and move to UCX
/// (shared memory, InfiniBand, RoCE, TCP: UCX chooses). Also handles everything that `base` handles, with UCX
/// or without, depending on `options`.
///
/// Impossible `options` are refused before there is a peer: by listen() wherever UCX is offered, which
/// creates UCX's context and tries its shared memory with a worker, and by connect() to ucx://, which creates
/// the context. A worker reachable from other hosts is created for the first peer that uses UCX. Errors
/// beside those of `base`: those of describe_ucx(). A client that only prefers UCX goes on without it then,
/// and creates its context for the first server that offers UCX.
std::unique_ptr<Transport> make_ucx_transport(std::unique_ptr<Transport> base,
                                              const UcxOptions& options = {});

}  // namespace detail

}  // namespace weft
