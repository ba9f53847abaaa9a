// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "weft/detail/base/time.hpp"
#include "weft/detail/transport/transport.hpp"

namespace weft {

namespace detail::simulated {
class Network;
struct Host;
}  // namespace detail::simulated

/// One direction of the link between a host and the rest of the network. The way from one host to another is
/// the first one's outgoing link and the second one's incoming one: latencies add up, and each has the
/// bandwidth that it has for all connections together.
struct SimulatedLink {
  /// Time that a packet takes.
  Duration latency{};
  /// Most that a packet takes longer, evenly distributed from zero on; the bytes of a connection stay in
  /// order.
  Duration jitter{};
  /// Zero: no bound.
  std::uint64_t bytes_per_second = 0;
  /// Share of packets that are lost, 0 to 1. A connection sends them again, as TCP does, so users see loss as
  /// delay.
  double loss = 0;
  /// Blocks all traffic. Packets in transit are lost, and are sent again after doubling delays.
  bool blocked = false;
};

struct SimulatedNetworkOptions {
  /// Beginning of all random numbers of the network: with the same ones, and the same program on the same
  /// clock, everything happens at the same times.
  std::uint64_t seed = 1;
  /// Links of hosts that are made from now on.
  SimulatedLink outgoing{};
  SimulatedLink incoming{};
  /// Bytes that may be on their way in one direction of a connection, what the receiver has not read
  /// included.
  std::size_t pipe_bytes = 64 * 1024;
  /// The wait before a lost packet is sent again, twice the latency at least; it doubles up to the maximum.
  Duration retransmit_min = std::chrono::milliseconds{200};
  Duration retransmit_max = std::chrono::minutes{2};
  /// A connection whose packets were not acknowledged for so long ends with ETIMEDOUT.
  Duration give_up_after = std::chrono::minutes{15};
  /// Number of connections that wait to be accepted by a listener. Further attempts get no reply, and try
  /// again after a second, then two, and so on, as after a lost packet.
  std::size_t backlog_max = 4096;
};

/// Counters of a simulated network since it was made.
struct SimulatedNetworkStats {
  std::uint64_t connections_made = 0;
  std::uint64_t connections_open = 0;  ///< now: either side is still there
  std::uint64_t connects_refused = 0;
  std::uint64_t resets = 0;    ///< connections that one side ended by force, or that were given up
  std::uint64_t segments = 0;  ///< sent, once each
  std::uint64_t bytes = 0;     ///< sent, once each
  std::uint64_t retransmissions = 0;
  std::uint64_t events = 0;      ///< of the trace
  std::uint64_t trace_hash = 0;  ///< over what happened, when, to which connection
};

/// A host of a SimulatedNetwork on which servers and clients run: a handle, which may be copied. Its methods
/// take effect at once, on existing connections too. Thread: the network's loop's.
class SimulatedHost {
 public:
  /// Makes the transport of memory://name for what runs on this host: give it to its servers and clients in
  /// Transports. It may outlive the network.
  std::unique_ptr<detail::Transport> transport() const;
  const std::string& name() const;

  const SimulatedLink& outgoing() const;
  const SimulatedLink& incoming() const;
  void set_outgoing(const SimulatedLink& link);
  void set_incoming(const SimulatedLink& link);
  /// Blocks or opens both links.
  void set_blocked(bool blocked);
  /// Hosts of different sides do not reach each other: a partition. All begin on side 0.
  void set_side(std::uint32_t side);

  /// Kills the host's programs while its system lives on: its connections are reset, for both sides, and its
  /// listeners are gone. The caller then destroys the servers and clients of the host, and may create new
  /// ones.
  void crash();
  /// Switches the host off without a message. Its own connections fail and its listeners are gone, as after
  /// crash(), but its peers notice nothing until it is back: then their next packet is answered with a reset.
  void power_off();
  void power_on();
  /// Stops the host's programs while its system lives on: connects succeed, bytes are accepted as long as
  /// there is room, and nothing is answered. Timers of the programs still fire; bytes that they send wait.
  void stop();
  void resume();

 private:
  friend class SimulatedNetwork;
  SimulatedHost(std::shared_ptr<detail::simulated::Network> network, detail::simulated::Host& host)
      : network_(std::move(network)), host_(&host) {}

  std::shared_ptr<detail::simulated::Network> network_;
  detail::simulated::Host* host_;
};

/// A network of hosts inside one process, for whole systems on a ManualClock: real servers and clients with
/// real frames between them, over links with latency, bandwidth, loss and partitions that change at any time.
/// It models TCP as seen by its users: ordered bytes, delay, resets, silence. A segment is the data of one
/// send; acknowledgements take no time and no bandwidth, but do not pass a blocked direction.
///
/// Thread: its loop's. All servers and clients of its hosts are on that loop.
class SimulatedNetwork {
 public:
  /// `loop` must outlive the servers and clients.
  explicit SimulatedNetwork(Loop& loop, const SimulatedNetworkOptions& options = {});
  ~SimulatedNetwork();

  /// Returns the host of this name, and makes it if it is new.
  SimulatedHost host(std::string_view name);
  /// Blocks or opens the way from one host to another, in this direction only.
  void set_blocked(const SimulatedHost& from, const SimulatedHost& to, bool blocked);
  /// Sets those for connections and hosts that are made from now on; the seed and the links of hosts stay as
  /// they are.
  void set_options(const SimulatedNetworkOptions& options);

  SimulatedNetworkStats stats() const;

 private:
  std::shared_ptr<detail::simulated::Network> network_;
};

}  // namespace weft
