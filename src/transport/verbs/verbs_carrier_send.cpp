// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "transport/verbs/limits.hpp"
#include "transport/verbs/verbs_carrier.hpp"

namespace weft::verbs_carrier {

namespace {

constexpr std::size_t kInlineBytesMax = 1024;
constexpr std::uint32_t kSequenceMask = 0xFF'FFFF;

void gather(std::byte* to, std::span<const iovec> from, std::size_t bytes) {
  for (const iovec& piece : from) {
    const std::size_t part = std::min(piece.iov_len, bytes);
    std::memcpy(to, piece.iov_base, part);
    to += part;
    bytes -= part;
    if (bytes == 0) return;
  }
}

bool stays_until_acknowledged(MessageKind kind) {
  return kind == MessageKind::kEnd || kind == MessageKind::kEndTaken;
}

}  // namespace

bool VerbsCarrier::may_send_bytes() const noexcept {
  return !failure_.ok() || (protocol_.may_send_bytes() && sends_under_way() < options_.sends_max);
}

// A message ends before what is to be offered.
Moved VerbsCarrier::send(std::span<const iovec> from, std::size_t leased) {
  if (!failure_.ok() || protocol_.misbehaves()) return Moved::failed(ECONNRESET);
  if (is_offered(from.front(), leased)) return offer(from.front(), leased);
  const std::size_t room = std::min(peer_message_bytes_, options_.message_bytes) - kMessageHeaderBytes;
  std::size_t bytes = from.front().iov_len;
  for (const iovec& piece : from.subspan(1)) {
    if (bytes >= room || may_be_offered(piece)) break;
    bytes += piece.iov_len;
  }
  bytes = std::min(bytes, room);
  if (!may_send_bytes() || !post({MessageKind::kBytes, 0}, from, bytes)) {
    send_blocked_ = true;
    return failure_.ok() ? Moved::blocked() : Moved::failed(ECONNRESET);
  }
  offering_.to_copy -= std::min(offering_.to_copy, bytes);
  return Moved::some(bytes, false);
}

// False when there is no memory for it now, or the device refused it, which failure_ says.
bool VerbsCarrier::post(MessageProtocol::Control message, std::span<const iovec> from,
                        std::size_t bytes) noexcept {
  const std::size_t size = kMessageHeaderBytes + bytes;
  std::array<std::byte, kInlineBytesMax> on_stack;
  SlotPool::Slot slot;
  std::byte* at = on_stack.data();
  Sent sent;
  const bool inside = size <= std::min(pair_->inline_bytes_max(), kInlineBytesMax);
  if (!inside) {
    sent.memory = bytes > 0 ? Sent::Memory::kBytes : Sent::Memory::kControl;
    slot = bytes > 0 ? loop_device_->sends().acquire() : loop_device_->controls().acquire();
    if (!slot) return loop_device_->wait_for_send_slot(*this), false;
    sent.slot = slot.index;
    at = slot.data;
  }
  store_message_header(at, protocol_.stamp(message));
  gather(at + kMessageHeaderBytes, from, bytes);
  const bool signalled =
      !inside || protocol_.ended() || stays_until_acknowledged(message.kind) || signal_due();
  ibv_send_wr request{};
  request.opcode = IBV_WR_SEND;
  if (inside) request.send_flags |= IBV_SEND_INLINE;
  if (signalled) request.send_flags |= IBV_SEND_SIGNALED;
  const ibv_sge segment{reinterpret_cast<std::uintptr_t>(at), static_cast<std::uint32_t>(size), slot.lkey};
  if (!give_to_device(request, segment)) {
    release(sent);
    return false;
  }
  unsignalled_ = signalled ? 0 : unsignalled_ + 1;
  sent_messages_[posted_++ % sent_messages_.size()] = sent;
  return true;
}

// Of as many as the device's queue holds some are signalled, or it would stay full for ever.
bool VerbsCarrier::signal_due() const noexcept {
  return unsignalled_ + 1 >= std::min<std::size_t>(kSignalEvery, (options_.sends_max + kControlSends) / 2);
}

bool VerbsCarrier::give_to_device(ibv_send_wr& request, ibv_sge segment) noexcept {
  request.wr_id = loop_device_->completions().id_for(place_, posted_ & kSequenceMask);
  request.sg_list = &segment;
  request.num_sge = 1;
  ibv_send_wr* refused = nullptr;
  const int error = ibv_post_send(pair_->handle(), &request, &refused);
  if (error != 0) fail(verbs::call_status(error, "sending by RDMA"));
  return error == 0;
}

// Those before it that were not signalled are done too.
void VerbsCarrier::on_completion(std::uint32_t sequence, const ibv_wc& completion) noexcept {
  if (completion.status != IBV_WC_SUCCESS) {
    const Sent& failed = sent_messages_[sequence % sent_messages_.size()];
    const bool read = failed.memory == Sent::Memory::kLanding;
    return fail(verbs::to_status(completion.status, read ? "fetching by RDMA" : "sending by RDMA"));
  }
  const std::uint32_t behind = (sequence - completed_) & kSequenceMask;
  completed_up_to(completed_ + behind + 1);
  touch();
}

void VerbsCarrier::completed_up_to(std::uint32_t end) noexcept {
  for (; completed_ != end; ++completed_) {
    release(std::exchange(sent_messages_[completed_ % sent_messages_.size()], {}));
  }
}

void VerbsCarrier::release(const Sent& sent) noexcept {
  if (sent.memory == Sent::Memory::kBytes) loop_device_->release_send_slot(sent.slot);
  if (sent.memory == Sent::Memory::kControl) loop_device_->release_control_slot(sent.slot);
  if (sent.memory == Sent::Memory::kLanding) end_read();
}

void VerbsCarrier::want_control(MessageKind kind, std::uint32_t amount) noexcept {
  protocol_.want(kind, amount);
  send_control();
}

void VerbsCarrier::send_control() noexcept {
  while (connected_ && peer_ready_ && !shut_ && failure_.ok()) {
    const auto control = protocol_.due();
    if (!control || sends_under_way() == options_.sends_max + kControlSends) return;
    if (!post(*control, {}, 0)) return;
  }
}

void VerbsCarrier::end_sending() {
  protocol_.end();
  send_control();
}

bool VerbsCarrier::all_left() const {
  return !failure_.ok() ||
         (protocol_.peer_took_end() && protocol_.end_taken_left() && sends_under_way() == 0);
}

}  // namespace weft::verbs_carrier
