// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <utility>

#include "transport/ucx/limits.hpp"
#include "transport/ucx/ucx_carrier.hpp"
#include "weft/ucx/status.hpp"

namespace weft::ucx_carrier {

// What UCX answered to the posting of `operation`.
ucs_status_t UcxCarrier::note(Operation& operation, ucs_status_ptr_t answer) noexcept {
  if (answer == nullptr) {
    operation.active = false;
    return UCS_OK;
  }
  if (ucx::detail::is_error(answer)) {
    operation.active = false;
    fail(ucx::detail::error_of(answer));
    return ucx::detail::error_of(answer);
  }
  return UCS_INPROGRESS;
}

ucs_status_t UcxCarrier::post(Operation& operation, const MessageHeader& header, const void* data,
                              std::size_t bytes) noexcept {
  store_active_message_header(operation.header, {header, peer_slot_, peer_key_});
  operation.carrier = this;
  operation.bytes = bytes;
  operation.active = true;
  operation.done = false;
  ucp_request_param_t params;
  params.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  params.flags = header.kind == MessageKind::kPiece ? UCP_AM_SEND_FLAG_RNDV : UCP_AM_SEND_FLAG_EAGER;
  params.cb.send = &UcxCarrier::on_sent;
  params.user_data = &operation;
  return note(operation, ucp_am_send_nbx(endpoint_.handle(), kActiveMessageId, operation.header,
                                         kActiveMessageHeaderBytes, data, bytes, &params));
}

// Bytes that a message may have.
std::size_t UcxCarrier::room() const noexcept {
  const std::size_t left = protocol_.credit().left();
  return left > kMessageCost ? left - kMessageCost : 0;
}

Moved UcxCarrier::send(std::span<const iovec> from, std::size_t leased) {
  if (sending_.active) return sent();
  if (endpoint_.handle() == nullptr || failed_ != UCS_OK) return Moved::failed(ECONNRESET);
  if (leased >= options_.rendezvous_bytes_min) return send_piece(from[0], leased);
  const std::size_t bytes = std::min({from[0].iov_len, options_.message_bytes, room()});
  if (bytes == 0) {
    send_blocked_ = true;
    return Moved::blocked();
  }
  asked_ = false;
  const auto cost = static_cast<std::uint32_t>(bytes + kMessageCost);
  const ucs_status_t status =
      post(sending_, protocol_.stamp(MessageKind::kBytes, cost), from[0].iov_base, bytes);
  if (status == UCS_OK) [[likely]] {
    return Moved::some(bytes, false);
  }
  send_blocked_ = true;
  return status == UCS_INPROGRESS ? Moved::begun() : Moved::failed(ECONNRESET);
}

Moved UcxCarrier::sent() {
  if (!sending_.done) {
    send_blocked_ = true;
    return Moved::begun();
  }
  sending_.active = sending_.done = false;
  return sending_.status == UCS_OK ? Moved::some(sending_.bytes, false) : Moved::failed(ECONNRESET);
}

Moved UcxCarrier::send_piece(const iovec& from, std::size_t leased) {
  if (!has_place()) {
    if (!std::exchange(asked_, true)) want_control(MessageKind::kAsk);
    send_blocked_ = true;
    return Moved::blocked();
  }
  const std::size_t bytes = std::min(leased, kPieceBytes);
  if (bytes == leased) asked_ = false;
  const ucs_status_t status = post(sending_, protocol_.stamp(MessageKind::kPiece), from.iov_base, bytes);
  if (status == UCS_OK) return Moved::some(bytes, false);
  send_blocked_ = true;
  return status == UCS_INPROGRESS ? Moved::begun() : Moved::failed(ECONNRESET);
}

Moved UcxCarrier::reclaim_sending() {
  if (!sending_.active) return Moved::blocked();
  insist_on(sending_);
  return sent();
}

void UcxCarrier::want_control(MessageKind kind, std::uint32_t amount) noexcept {
  protocol_.want(kind, amount);
  send_control();
}

void UcxCarrier::send_control() noexcept {
  for (Operation& operation : controls_) {
    if (endpoint_.handle() == nullptr || failed_ != UCS_OK) return;
    if (operation.active) continue;
    const auto control = protocol_.due();
    if (!control) return;
    if (control->kind == MessageKind::kAsk) ++asks_;
    post(operation, protocol_.stamp(*control), nullptr, 0);
    if (protocol_.end_left() && protocol_.end_taken_left() && !flush_.active && !flushed_) flush();
  }
}

void UcxCarrier::end_sending() {
  protocol_.end();
  send_control();
}

// So that nothing of ours is still inside UCX when the carrier is shut.
void UcxCarrier::flush() noexcept {
  flush_.carrier = this;
  flush_.active = true;
  flush_.done = false;
  ucp_request_param_t params;
  params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  params.cb.send = &UcxCarrier::on_sent;
  params.user_data = &flush_;
  if (note(flush_, ucp_ep_flush_nbx(endpoint_.handle(), &params)) == UCS_INPROGRESS) return;
  flushed_ = true;
  touch();
}

bool UcxCarrier::all_left() const {
  return failed_ != UCS_OK || (protocol_.peer_took_end() && flushed_ && !anything_in_flight());
}

}  // namespace weft::ucx_carrier
