// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/detail/base/log.hpp"
#include "weft/detail/transport/carrier_policy.hpp"
#include "weft/detail/transport/carrier_provider.hpp"
#include "weft/detail/transport/transport.hpp"

namespace weft {

namespace verbs {
class Driver;
}

/// Choice of the device that a new connection takes, of several.
enum class DeviceChoice : std::uint8_t {
  kRoundRobin,
  /// One that is nearest to the processor that its loop's thread runs on, as NUMA nodes are; in turn where
  /// several are. It is meant for threads that stay where they are (ServerOptions::cpus). A device whose node
  /// the system does not know is as near as any.
  kNearest,
};

/// Registered memory of all loops and devices that were given this to count in, used or not, as it is now.
/// Thread: any.
struct VerbsUsage {
  std::atomic<std::size_t> receive_bytes{0};
  std::atomic<std::size_t> send_bytes{0};
  std::atomic<std::size_t> control_bytes{0};
  std::atomic<std::size_t> attachment_bytes{0};
};

/// Says how the two sides' queue pairs find each other.
enum class VerbsConnect : std::uint8_t {
  kHello,   ///< by what both sides say to each other on the connection's base carrier
  kRdmaCm,  ///< by the system's connection manager (librdmacm), along the route to the base carrier's IP
            ///< address
};

/// Says how connections use RDMA. Memory is bounded by what stands here: see verbs_memory().
struct VerbsOptions {
  /// Policy of a client for tcp:// and unix:// URLs.
  CarrierPolicy connecting = CarrierPolicy::kForbid;
  /// Policy of a listener of a tcp:// or unix:// URL. A listener of a verbs:// URL offers RDMA and serves
  /// peers without it all the same, unless this says kRequire.
  CarrierPolicy listening = CarrierPolicy::kForbid;

  /// The client's setting decides; a server set to kRdmaCm also accepts clients that use kHello. With
  /// kRdmaCm the route says which device, port, GID, partition, service level, traffic class and hop limit
  /// are used: those options have no effect, but a device or port other than those named is refused.
  VerbsConnect connect_by = VerbsConnect::kHello;
  /// Devices by name ("mlx5_0", "rxe0"), which connections take as `device_choice` says; empty for all with
  /// an active port.
  std::vector<std::string> devices{};
  DeviceChoice device_choice = DeviceChoice::kRoundRobin;
  /// The port of the device; 0 for the first that is active.
  std::uint8_t port = 0;
  /// The place of our GID in the port's table. Without one InfiniBand comes before RoCE v2 and that before
  /// RoCE v1, and a global address before a link-local one.
  std::optional<std::uint8_t> gid_index{};
  std::uint8_t hop_limit = 64;
  std::uint8_t traffic_class = 0;
  std::uint8_t service_level = 0;
  std::uint16_t partition_index = 0;
  /// Timeout and retry count for an unanswered packet: sent again after 4.096 us * 2^ack_timeout, up to this
  /// many times (at most 6).
  std::uint8_t ack_timeout = 14;
  std::uint8_t retries = 6;

  /// Frames are packed into messages of up to this many bytes, head of 16 included; each takes one receive of
  /// the peer's.
  std::size_t message_bytes = 16 * 1024;
  /// Registered memory is made in blocks of this size.
  std::size_t block_bytes = 256 * 1024;
  /// Number of messages that a peer may always have on their way to us, and up to how many while there is
  /// memory.
  std::size_t credits_min = 4;
  std::size_t credits_max = 32;
  /// Messages under way from us, for each connection.
  std::size_t sends_max = 16;
  /// Largest payload in bytes that is copied into the work request instead of being fetched by the device,
  /// if the device grants it.
  std::size_t inline_bytes = 256;
  /// Bounds for each loop and device: connections, and registered memory to receive into and to send from.
  /// When the first two are used up no more RDMA is brought up; when the last is, sending waits.
  std::size_t connections_max = 1000;
  std::size_t receive_bytes_max = 128 * 1024 * 1024;
  std::size_t send_bytes_max = 32 * 1024 * 1024;

  /// Minimum size of an attachment that the receiver's device fetches from the sender's memory into its final
  /// memory (rendezvous), if both are registered: see Client::register_memory(). All other bytes are copied
  /// into messages.
  std::size_t rendezvous_bytes_min = 64 * 1024;
  /// Limit, for each device, of registered memory that attachments from peers land in. Memory unused for ten
  /// seconds is returned to the system; beyond the limit attachments land in other memory. 0: they always do.
  std::size_t attachment_bytes_max = 256 * 1024 * 1024;
  /// Lets the device write attachments in another order than the peer sent them, where it can: their end is
  /// known by its completion only.
  bool relaxed_ordering = true;

  /// Counts of registered memory; null: it is not counted.
  std::shared_ptr<VerbsUsage> usage{};

  /// Time that bringing RDMA up may take, from the peer's hello on.
  Duration bring_up_timeout = std::chrono::seconds{5};
  /// Receives the reports of devices, at most once a second. Must outlive the transport.
  Logger* logger = &stderr_logger();
  /// Null for the machine's devices. Must outlive the transport.
  verbs::Driver* driver = nullptr;
};

/// Memory that connections may take, as arithmetic.
struct VerbsMemory {
  std::size_t receive_bytes_per_connection = 0;  ///< credits_min messages, always there
  /// Upper limit of the growth, credits_max messages: one more for each message that arrived, while there is
  /// memory for all.
  std::size_t receive_bytes_per_connection_max = 0;
  std::size_t send_bytes_per_connection_max = 0;
  std::size_t receive_bytes_max = 0;  ///< of a loop and device
  std::size_t send_bytes_max = 0;
  /// Registered memory of one loop and device for messages without bytes, needed only where the device sends
  /// nothing inline.
  std::size_t control_bytes_max = 0;
  std::size_t attachment_bytes_max = 0;  ///< of a device
};
VerbsMemory verbs_memory(const VerbsOptions& options);

/// Errors: kInvalidArgument says which option cannot be.
Status check(const VerbsOptions& options);

namespace detail {

/// The carrier of connections that go by RDMA.
std::shared_ptr<const CarrierProvider> make_verbs_carriers(const VerbsOptions& options = {});

/// The transport of verbs://host:port: connections that begin on `base`'s tcp://host:port and move to RDMA
/// (InfiniBand, RoCE). Also handles everything that `base` handles, with RDMA or without, depending on
/// `options`.
std::unique_ptr<Transport> make_verbs_transport(std::unique_ptr<Transport> base,
                                                const VerbsOptions& options = {});

}  // namespace detail

}  // namespace weft
