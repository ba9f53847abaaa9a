// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <infiniband/verbs.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/status.hpp"

namespace weft::verbs {

/// Never defined: what a driver's handles are is its own business.
struct CmChannel;
struct CmId;

/// Parameters that one side of a connection sends to the other, and requests of it.
struct CmParameters {
  /// Number of bytes that a peer gets at least: devices add zeros. Of a request that goes by IP addresses
  /// no more fit.
  static constexpr std::size_t kPrivateBytesMax = 56;

  std::uint32_t queue_pair = 0;
  /// Reads and atomics under way at a time: of the peer's that this side serves, and of its own.
  std::uint8_t reads_served = 0;
  std::uint8_t reads_asked = 0;
  std::array<std::byte, kPrivateBytesMax> private_data{};
  std::size_t private_bytes = 0;
};

/// Something that happened to a connection or to a listener.
struct CmEvent {
  enum class Kind : std::uint8_t {
    kAddressResolved,
    kRouteResolved,
    kRequest,   ///< `id` is new, and the receiver of the event destroys it
    kResponse,  ///< the peer has accepted
    kEstablished,
    kRejected,
    kFailed,        ///< no answer, no such address, or no route to it
    kDisconnected,  ///< the peer has ended it
    kDeviceGone,    ///< the device is being removed, which waits for the end of `id`
    kOther,
  };
  Kind kind = Kind::kOther;
  CmId* id = nullptr;
  /// An errno, or of kRejected the reason of the protocol; 0 where there is none.
  int status = 0;
  /// librdmacm's words for the kind. Static.
  const char* words = "";
  /// The peer's, of kRequest and kResponse. What does not fit private_data is not there.
  CmParameters parameters;
};

/// Every call of librdmacm: the one seam between Weft and the connection manager, as Driver is for devices.
/// Each does what rdma_<its name> does, asynchronously for RDMA_PS_TCP, with the same results: null and
/// errno, or -1 and errno. Its events come by the channel's descriptor. Thread: any, but one at a time for a
/// channel and its ids.
class CmDriver {
 public:
  virtual ~CmDriver() = default;

  /// Loads the library behind the other calls; comes before them. Errors: kUnimplemented if it is not
  /// installed, with the package to install.
  virtual Status load() noexcept { return {}; }

  virtual CmChannel* create_event_channel() noexcept = 0;
  /// Called when all its ids are destroyed.
  virtual void destroy_event_channel(CmChannel* channel) noexcept = 0;
  virtual int fd(const CmChannel* channel) const noexcept = 0;
  /// Copies the next event and acknowledges it. EAGAIN when there is none and the fd was made non-blocking.
  virtual int get_event(CmChannel* channel, CmEvent* event) noexcept = 0;

  virtual CmId* create_id(CmChannel* channel) noexcept = 0;
  /// Ends its connection too; no event of it comes any more.
  virtual int destroy_id(CmId* id) noexcept = 0;
  virtual int bind_addr(CmId* id, const sockaddr* address) noexcept = 0;
  virtual int listen(CmId* id, int backlog) noexcept = 0;
  /// Returns the port of a bound id, in the host's order.
  virtual std::uint16_t source_port(CmId* id) const noexcept = 0;
  virtual int resolve_addr(CmId* id, const sockaddr* to, int timeout_ms) noexcept = 0;
  virtual int resolve_route(CmId* id, int timeout_ms) noexcept = 0;
  virtual int connect(CmId* id, const CmParameters& parameters) noexcept = 0;
  virtual int accept(CmId* id, const CmParameters& parameters) noexcept = 0;
  virtual int refuse(CmId* id) noexcept = 0;
  virtual int establish(CmId* id) noexcept = 0;
  /// Fills in the attributes that the queue pair needs to enter `attributes->qp_state`.
  virtual int init_qp_attr(CmId* id, ibv_qp_attr* attributes, int* mask) noexcept = 0;

  /// Returns where the id's way begins: the device's name, null as long as that is not known, and its port.
  virtual const char* device_name(const CmId* id) const noexcept = 0;
  virtual std::uint8_t port(const CmId* id) const noexcept = 0;
};

}  // namespace weft::verbs
