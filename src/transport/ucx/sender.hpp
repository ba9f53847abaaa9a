// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "transport/ucx/carrier_operation.hpp"
#include "transport/ucx/conversation.hpp"
#include "transport/ucx/run_list.hpp"
#include "weft/detail/transport/carrier.hpp"
#include "weft/detail/transport/ucx.hpp"
#include "weft/detail/ucx/endpoint.hpp"

namespace weft::detail::ucx_carrier {

/// Name of a peer's receiving end, from its address.
struct PeerEnd {
  std::uint32_t slot = 0;
  std::uint32_t key = 0;
};

/// The sending half of a carrier: bytes in messages that UCX copies (eager), attachments one part after the
/// other once the peer has said that it has a place for them, and control messages beside both.
/// Thread: the loop's.
class Sender {
 public:
  Sender(Conversation& conversation, const UcxOptions& options);

  /// Sends to `peer` by `endpoint` from now on.
  void begin(ucx::Endpoint endpoint, PeerEnd peer) noexcept;
  bool connected() const noexcept { return static_cast<bool>(endpoint_); }
  /// Closes the endpoint by force, where UCX can: what flies may end by that.
  void disconnect() noexcept { endpoint_ = {}; }
  std::string description() const { return endpoint_.description(); }

  Moved send(std::span<const iovec> from, std::size_t leased);
  /// Reports the result of the bytes in flight to their waiter.
  Moved sent();
  /// The bytes that send() was given last, while UCX may read them.
  const CarrierOperation& bytes_sent() const noexcept { return sending_; }
  /// send() was blocked, and is worth another try. True once.
  bool take_writable() noexcept;
  /// Records that the peer has places for `asks` more requests. Returns false if fewer were outstanding.
  bool take_places(std::uint32_t asks) noexcept;

  void want_control(MessageKind kind, std::uint32_t amount = 0) noexcept;
  void send_control() noexcept;
  /// True when both ends have acknowledged everything and UCX holds no memory of ours. A side may close its
  /// endpoint only then, because UCX cancels transfers that are still landing at the other side.
  bool all_left() const noexcept;
  bool anything_flies() const noexcept;
  /// The worker is gone, and UCX with it.
  void give_up() noexcept;

 private:
  static constexpr std::size_t kControlOperations = 4;

  ucs_status_t post(CarrierOperation& operation, const MessageHeader& header, const void* data,
                    std::size_t bytes) noexcept;
  ucs_status_t post(CarrierOperation& operation, ucp_request_param_t& params, const MessageHeader& header,
                    const void* buffer, std::size_t count) noexcept;
  Moved posted(ucs_status_t status, std::size_t bytes) noexcept;
  Moved send_part(std::span<const iovec> from, std::size_t leased);
  void flush() noexcept;
  std::size_t room() const noexcept;
  bool has_place() const noexcept {
    return asked_ && !protocol().wants(MessageKind::kAsk) && places_ == asks_;
  }
  MessageProtocol& protocol() const noexcept { return conversation_.protocol(); }

  Conversation& conversation_;
  const UcxOptions& options_;
  ucx::Endpoint endpoint_;
  PeerEnd peer_;
  CarrierOperation sending_;
  /// The part that it sends.
  RunList part_;
  std::array<CarrierOperation, kControlOperations> controls_;
  CarrierOperation flush_;
  /// True if the last request in `asks_` covers the bytes at the front, and all leased bytes behind them up
  /// to the next unleased byte: these belong to the same attachment. Every request is answered, even if its
  /// bytes took another path meanwhile.
  bool asked_ = false;
  std::uint32_t asks_ = 0;
  std::uint32_t places_ = 0;
  bool blocked_ = false;
};

}  // namespace weft::detail::ucx_carrier
