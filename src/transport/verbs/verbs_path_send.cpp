// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include "transport/verbs/path_limits.hpp"
#include "transport/verbs/verbs_path.hpp"

namespace weft::verbs_path {

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

bool VerbsPath::may_send_bytes() const noexcept {
  return !failure_.ok() || (credit() > kCreditKept && sends_under_way() < options_.sends_max);
}

Moved VerbsPath::send(std::span<const iovec> from, std::size_t /*leased*/) {
  if (!failure_.ok() || misbehaviour_ != nullptr) return Moved::failed(ECONNRESET);
  const std::size_t room = std::min(peer_message_bytes_, options_.message_bytes) - kMessageHeaderBytes;
  std::size_t bytes = 0;
  for (const iovec& piece : from) bytes += piece.iov_len;
  bytes = std::min(bytes, room);
  if (!may_send_bytes() || !post(MessageKind::kBytes, from, bytes)) {
    send_blocked_ = true;
    return failure_.ok() ? Moved::blocked() : Moved::failed(ECONNRESET);
  }
  return Moved::some(bytes, false);
}

// False when there is no memory for it now, or the device refused it, which failure_ says.
bool VerbsPath::post(MessageKind kind, std::span<const iovec> from, std::size_t bytes,
                     std::uint32_t value) noexcept {
  const std::size_t size = kMessageHeaderBytes + bytes;
  std::array<std::byte, kInlineBytesMax> on_stack;
  SlotPool::Slot slot;
  std::byte* at = on_stack.data();
  Sent sent;
  const bool inside = size <= std::min(pair_->inline_bytes_max(), kInlineBytesMax);
  if (!inside) {
    sent.memory = bytes > 0 ? Sent::Memory::kBytes : Sent::Memory::kControl;
    slot = bytes > 0 ? domain_->sends().acquire() : domain_->controls().acquire();
    if (!slot) return domain_->wait_for_send_slot(*this), false;
    sent.slot = slot.index;
    at = slot.data;
  }
  store_message_header(at, {kind, granted_, value});
  gather(at + kMessageHeaderBytes, from, bytes);
  const bool signalled = !inside || ended_ || stays_until_acknowledged(kind) || signal_due();
  unsigned flags = 0;
  if (inside) flags |= IBV_SEND_INLINE;
  if (signalled) flags |= IBV_SEND_SIGNALED;
  if (!give_to_device({reinterpret_cast<std::uintptr_t>(at), static_cast<std::uint32_t>(size), slot.lkey},
                      flags)) {
    release(sent);
    return false;
  }
  unsignalled_ = signalled ? 0 : unsignalled_ + 1;
  sent_messages_[posted_++ % sent_messages_.size()] = sent;
  ++sent_;
  granted_told_ = granted_;
  return true;
}

// Of as many as the device's queue holds some are signalled, or it would stay full for ever.
bool VerbsPath::signal_due() const noexcept {
  return unsignalled_ + 1 >= std::min<std::size_t>(kSignalEvery, (options_.sends_max + kControlSends) / 2);
}

bool VerbsPath::give_to_device(ibv_sge segment, unsigned flags) noexcept {
  ibv_send_wr request{};
  request.wr_id = domain_->completions().id_for(place_, posted_ & kSequenceMask);
  request.sg_list = &segment;
  request.num_sge = 1;
  request.opcode = IBV_WR_SEND;
  request.send_flags = flags;
  ibv_send_wr* refused = nullptr;
  const int error = ibv_post_send(pair_->handle(), &request, &refused);
  if (error != 0) fail(verbs::call_status(error, "sending by RDMA"));
  return error == 0;
}

// Those before it that were not signalled are done too.
void VerbsPath::on_completion(std::uint32_t sequence, const ibv_wc& completion) noexcept {
  if (completion.status != IBV_WC_SUCCESS) {
    return fail(verbs::to_status(completion.status, "sending by RDMA"));
  }
  const std::uint32_t behind = (sequence - completed_) & kSequenceMask;
  completed_up_to(completed_ + behind + 1);
  touch();
}

void VerbsPath::completed_up_to(std::uint32_t end) noexcept {
  for (; completed_ != end; ++completed_) {
    release(std::exchange(sent_messages_[completed_ % sent_messages_.size()], {}));
  }
}

void VerbsPath::release(const Sent& sent) noexcept {
  if (sent.memory == Sent::Memory::kBytes) domain_->release_send_slot(sent.slot);
  if (sent.memory == Sent::Memory::kControl) domain_->release_control_slot(sent.slot);
}

void VerbsPath::want_control(MessageKind kind) noexcept {
  wanted_ |= 1u << static_cast<unsigned>(kind);
  send_control();
}

// What the last credit is kept for is the news of credit; the rest needs one like bytes do.
void VerbsPath::send_control() noexcept {
  while (wanted_ != 0 && peer_ready_ && !shut_ && failure_.ok()) {
    const auto kind = static_cast<MessageKind>(std::countr_zero(wanted_));
    const std::uint32_t kept = kind == MessageKind::kCredit ? 0 : kCreditKept;
    if (credit() <= kept || sends_under_way() == options_.sends_max + kControlSends) return;
    std::uint32_t value = 0;
    if (kind == MessageKind::kReturn) value = credit_to_return();
    const bool pointless = (kind == MessageKind::kReturn && value == 0) ||
                           (kind == MessageKind::kCredit && granted_ == granted_told_);
    if (!pointless && !post(kind, {}, 0, value)) return;
    wanted_ &= wanted_ - 1;
    if (kind == MessageKind::kReturn) sent_ += value;
    end_left_ = end_left_ || kind == MessageKind::kEnd;
    end_taken_left_ = end_taken_left_ || kind == MessageKind::kEndTaken;
  }
}

// All but what every connection has, and what the message that says so takes.
std::uint32_t VerbsPath::credit_to_return() const noexcept {
  const auto due = static_cast<std::uint32_t>(kCreditsMin + 1);
  return credit() > due ? credit() - due : 0;
}

void VerbsPath::end_sending() {
  ended_ = true;
  want_control(MessageKind::kEnd);
}

bool VerbsPath::all_left() const {
  return !failure_.ok() || (peer_took_end_ && end_taken_left_ && sends_under_way() == 0);
}

}  // namespace weft::verbs_path
