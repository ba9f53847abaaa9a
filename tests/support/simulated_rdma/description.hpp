// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// Describes a simulated RDMA device, and counts its calls.
namespace weft::testing {

struct SimulatedGid {
  ibv_gid gid{};
  ibv_gid_type type = IBV_GID_TYPE_ROCE_V2;
};

struct SimulatedPort {
  ibv_port_attr attributes{};
  /// Table by index; an index without a value is not in use (ENODATA).
  std::vector<std::optional<SimulatedGid>> gids;
};

struct SimulatedDevice {
  std::string name;
  int numa_node = -1;
  ibv_device_attr attributes{};
  std::uint32_t inline_bytes_max = 512;
  int completion_vectors = 2;
  /// Port 1 is the first.
  std::vector<SimulatedPort> ports;
};

/// An Ethernet device with one active port and 4 GIDs, as a kernel lists them: link-local and ::ffff:10.0.0.
/// `host`, each as RoCE v1 and as RoCE v2.
SimulatedDevice roce_device(std::string name, std::uint8_t host);
/// An InfiniBand device with one active port of this LID, and one GID.
SimulatedDevice infiniband_device(std::string name, std::uint16_t lid);

enum class Call : std::uint8_t {
  kGetDeviceList,
  kOpenDevice,
  kCloseDevice,
  kQueryDevice,
  kQueryPort,
  kQueryGid,
  kGetAsyncEvent,
  kAllocPd,
  kDeallocPd,
  kRegMr,
  kDeregMr,
  kCreateAh,
  kDestroyAh,
  kCreateCompChannel,
  kDestroyCompChannel,
  kCreateCq,
  kDestroyCq,
  kGetCqEvent,
  kCreateSrq,
  kModifySrq,
  kDestroySrq,
  kCreateQp,
  kModifyQp,
  kQueryQp,
  kDestroyQp,
  kPostSend,
  kPostRecv,
  kPostSrqRecv,
  kPollCq,
  kReqNotifyCq,
  kCmCreateEventChannel,
  kCmGetEvent,
  kCmCreateId,
  kCmBindAddr,
  kCmListen,
  kCmResolveAddr,
  kCmResolveRoute,
  kCmConnect,
  kCmAccept,
  kCmRefuse,
  kCmEstablish,
  kCmInitQpAttr,
};
inline constexpr std::size_t kCalls = static_cast<std::size_t>(Call::kCmInitQpAttr) + 1;

/// Counts since the start. Failed calls count as calls.
struct SimulatedRdmaCounters {
  std::array<std::uint64_t, kCalls> calls{};
  /// Work requests that were taken in, and of those to the send queue: how many asked for a completion, how
  /// many were inline, and their bytes.
  std::uint64_t sends_posted = 0;
  std::uint64_t receives_posted = 0;
  std::uint64_t sends_signalled = 0;
  std::uint64_t sends_inline = 0;
  std::uint64_t inline_bytes = 0;
  /// Payload that moved between memory of the two sides, counted at the side that asked; and how many RDMA
  /// reads were done, and their part of it.
  std::uint64_t moved_bytes = 0;
  std::uint64_t reads = 0;
  std::uint64_t read_bytes = 0;
  std::uint64_t completions_polled = 0;
  std::uint64_t polls_empty = 0;
  std::uint64_t completion_events = 0;
  /// Messages that found no receive, counted once each at the side that sent.
  std::uint64_t rnr_naks = 0;

  std::uint64_t of(Call call) const { return calls[static_cast<std::size_t>(call)]; }
};

/// Objects that were made and not destroyed.
struct SimulatedRdmaObjects {
  std::size_t device_lists = 0;
  std::size_t contexts = 0;
  std::size_t domains = 0;
  std::size_t regions = 0;
  std::size_t address_handles = 0;
  std::size_t channels = 0;
  std::size_t completion_queues = 0;
  std::size_t receive_queues = 0;
  std::size_t queue_pairs = 0;
  std::size_t cm_channels = 0;
  std::size_t cm_ids = 0;

  std::size_t total() const {
    return device_lists + contexts + domains + regions + address_handles + channels + completion_queues +
           receive_queues + queue_pairs + cm_channels + cm_ids;
  }
  friend bool operator==(const SimulatedRdmaObjects&, const SimulatedRdmaObjects&) = default;
};

}  // namespace weft::testing
