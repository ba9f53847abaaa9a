// SPDX-License-Identifier: Apache-2.0
#include "transport/ucx/sender.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "transport/ucx/limits.hpp"
#include "weft/detail/ucx/library.hpp"

namespace weft::detail::ucx_carrier {

Sender::Sender(Conversation& conversation, const UcxOptions& options)
    : conversation_(conversation),
      options_(options),
      sending_(conversation, CarrierOperation::Ends::kWhenFetched),
      controls_{CarrierOperation{conversation, CarrierOperation::Ends::kByItself},
                CarrierOperation{conversation, CarrierOperation::Ends::kByItself},
                CarrierOperation{conversation, CarrierOperation::Ends::kByItself},
                CarrierOperation{conversation, CarrierOperation::Ends::kByItself}},
      flush_(conversation, CarrierOperation::Ends::kByItself) {}

void Sender::begin(ucx::Endpoint endpoint, PeerEnd peer) noexcept {
  endpoint_ = std::move(endpoint);
  peer_ = peer;
}

ucs_status_t Sender::post(CarrierOperation& operation, const MessageHeader& header, const void* data,
                          std::size_t bytes) noexcept {
  ucp_request_param_t params;
  params.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  params.flags = UCP_AM_SEND_FLAG_EAGER;
  operation.begin(bytes);
  return post(operation, params, header, data, bytes);
}

inline ucs_status_t Sender::post(CarrierOperation& operation, ucp_request_param_t& params,
                                 const MessageHeader& header, const void* buffer,
                                 std::size_t count) noexcept {
  store_active_message_header(operation.header(), {header, peer_.slot, peer_.key});
  params.op_attr_mask |= UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  params.cb.send = &CarrierOperation::on_sent;
  params.user_data = &operation;
  return operation.answered(
      ucx::detail::library.ucp_am_send_nbx(endpoint_.handle(), kActiveMessageId, operation.header(),
                                           kActiveMessageHeaderBytes, buffer, count, &params));
}

// Bytes that a message may have.
std::size_t Sender::room() const noexcept {
  const std::size_t left = protocol().credit().left();
  return left > kMessageCost ? left - kMessageCost : 0;
}

Moved Sender::send(std::span<const iovec> from, std::size_t leased) {
  if (sending_.active()) return sent();
  if (endpoint_.handle() == nullptr || conversation_.has_failed()) return Moved::failed(ECONNRESET);
  if (leased >= options_.rendezvous_bytes_min) return send_part(from, leased);
  asked_ = false;
  const std::size_t bytes = std::min({from[0].iov_len, options_.message_bytes, room()});
  if (bytes == 0) {
    blocked_ = true;
    return Moved::blocked();
  }
  const auto cost = static_cast<std::uint32_t>(bytes + kMessageCost);
  return posted(post(sending_, protocol().stamp(MessageKind::kBytes, cost), from[0].iov_base, bytes), bytes);
}

inline Moved Sender::posted(ucs_status_t status, std::size_t bytes) noexcept {
  if (status == UCS_OK) [[likely]] {
    return Moved::some(bytes, false);
  }
  blocked_ = true;
  return status == UCS_INPROGRESS ? Moved::begun(bytes) : Moved::failed(ECONNRESET);
}

Moved Sender::send_part(std::span<const iovec> from, std::size_t leased) {
  if (!has_place()) {
    if (!std::exchange(asked_, true)) want_control(MessageKind::kAsk);
    blocked_ = true;
    return Moved::blocked();
  }
  // Without memory to list many runs the first one has to do.
  if (!part_.list(from, std::min(leased, kPartBytes))) part_.list(from.first(1), from[0].iov_len);
  ucp_request_param_t params;
  params.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  params.flags = UCP_AM_SEND_FLAG_RNDV;
  part_.describe(params);
  sending_.begin(part_.bytes());
  return posted(post(sending_, params, protocol().stamp(MessageKind::kPart), part_.buffer(), part_.count()),
                part_.bytes());
}

Moved Sender::sent() {
  if (!sending_.is_done()) {
    blocked_ = true;
    return Moved::begun(sending_.bytes());
  }
  return sending_.fetch() == UCS_OK ? Moved::some(sending_.bytes(), false) : Moved::failed(ECONNRESET);
}

bool Sender::take_writable() noexcept {
  if (!blocked_) return false;
  const bool may_send = sending_.active() ? sending_.is_done() : asked_ ? has_place() : room() > 0;
  if (may_send) blocked_ = false;
  return may_send;
}

bool Sender::take_places(std::uint32_t asks) noexcept {
  if (asks > asks_ - places_) return false;
  places_ += asks;
  return true;
}

void Sender::want_control(MessageKind kind, std::uint32_t amount) noexcept {
  protocol().want(kind, amount);
  send_control();
}

void Sender::send_control() noexcept {
  for (CarrierOperation& operation : controls_) {
    if (endpoint_.handle() == nullptr || conversation_.has_failed()) return;
    if (operation.active()) continue;
    const auto control = protocol().due();
    if (!control) return;
    if (control->kind == MessageKind::kAsk) ++asks_;
    post(operation, protocol().stamp(*control), nullptr, 0);
    if (protocol().end_left() && protocol().end_taken_left()) flush();
  }
}

// Once, so that nothing of ours is still inside UCX when the carrier is shut.
void Sender::flush() noexcept {
  if (flush_.active() || flush_.is_done()) return;
  flush_.begin(0);
  ucp_request_param_t params;
  params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  params.cb.send = &CarrierOperation::on_sent;
  params.user_data = &flush_;
  const ucs_status_t status =
      flush_.answered(ucx::detail::library.ucp_ep_flush_nbx(endpoint_.handle(), &params));
  if (status != UCS_INPROGRESS) flush_.complete(status);
}

bool Sender::all_left() const noexcept {
  return protocol().peer_took_end() && flush_.is_done() && !anything_flies();
}

bool Sender::anything_flies() const noexcept {
  return sending_.flies() || flush_.flies() ||
         std::any_of(controls_.begin(), controls_.end(),
                     [](const CarrierOperation& each) { return each.flies(); });
}

void Sender::give_up() noexcept {
  sending_.give_up();
  flush_.give_up();
  for (CarrierOperation& control : controls_) control.give_up();
}

}  // namespace weft::detail::ucx_carrier
