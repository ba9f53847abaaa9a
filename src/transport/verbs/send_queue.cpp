// SPDX-License-Identifier: Apache-2.0
#include "transport/verbs/send_queue.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "transport/verbs/limits.hpp"

namespace weft::detail::verbs_carrier {

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

SendQueue::SendQueue(verbs::CompletionQueue& completions, SendMemory& memory, MessageProtocol& protocol,
                     CarrierTurn& turn, const VerbsOptions& options)
    : completions_(completions),
      memory_(memory),
      protocol_(protocol),
      turn_(turn),
      options_(options),
      sent_(std::bit_ceil(options.sends_max + kControlSends)),
      place_(completions.add(*this)) {}

SendQueue::~SendQueue() {
  end();
}

bool SendQueue::has_place_for_control() const noexcept {
  return under_way() < options_.sends_max + kControlSends;
}

std::size_t SendQueue::places_for_reads() const noexcept {
  const std::size_t places = options_.sends_max - options_.sends_max / 4;
  return places - std::min(places, under_way());
}

bool SendQueue::post(MessageProtocol::Control message, std::span<const iovec> from,
                     std::size_t bytes) noexcept {
  const std::size_t size = kMessageHeaderBytes + bytes;
  std::array<std::byte, kInlineBytesMax> on_stack;
  SlotPool::Slot slot;
  std::byte* at = on_stack.data();
  SentMemory sent;
  const bool inside = size <= std::min(pair_->inline_bytes_max(), kInlineBytesMax);
  if (!inside) {
    sent.kind = bytes > 0 ? SentMemory::Kind::kBytes : SentMemory::Kind::kControl;
    slot = memory_.acquire(sent.kind, turn_);
    if (!slot) return false;
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
    memory_.release(sent);
    return false;
  }
  unsignalled_ = signalled ? 0 : unsignalled_ + 1;
  entry(posted_++) = sent;
  return true;
}

// What the device took before it refused one is under way: it counts as begun.
std::size_t SendQueue::begin_reads(std::span<const ReadRequest> reads) noexcept {
  std::array<ibv_send_wr, kReadsAtOnce> requests{};
  std::uint64_t unreported = 0;
  for (std::size_t i = 0; i < reads.size(); ++i) {
    const bool last = i + 1 == reads.size();
    ibv_send_wr& request = requests[i];
    request.wr_id = completions_.id_for(place_, (posted_ + static_cast<std::uint32_t>(i)) & kSequenceMask);
    request.next = last ? nullptr : &requests[i + 1];
    request.sg_list = reads[i].into.data();
    request.num_sge = static_cast<int>(reads[i].into.size());
    request.opcode = IBV_WR_RDMA_READ;
    request.wr.rdma.remote_addr = reads[i].from.address;
    request.wr.rdma.rkey = reads[i].from.rkey;
    unreported += reads[i].from.bytes;
    if (!last && unreported < kReadBytesPerReport) continue;
    request.send_flags = IBV_SEND_SIGNALED;
    unreported = 0;
  }
  std::size_t begun = reads.size();
  ibv_send_wr* refused = nullptr;
  if (const int error = ibv_post_send(pair_->handle(), requests.data(), &refused); error != 0) {
    begun = refused != nullptr ? static_cast<std::size_t>(refused - requests.data()) : begun;
    turn_.fail(verbs::call_status(error, "fetching by RDMA"));
  }
  unsignalled_ = 0;
  for (std::size_t i = 0; i < begun; ++i) entry(posted_++) = {SentMemory::Kind::kLanding, 0};
  return begun;
}

// Some of the requests that fill the device's queue must be signalled, or the queue would stay full.
bool SendQueue::signal_due() const noexcept {
  return unsignalled_ + 1 >= std::min<std::size_t>(kSignalEvery, (options_.sends_max + kControlSends) / 2);
}

bool SendQueue::give_to_device(ibv_send_wr& request, ibv_sge segment) noexcept {
  request.wr_id = completions_.id_for(place_, posted_ & kSequenceMask);
  request.sg_list = &segment;
  request.num_sge = 1;
  ibv_send_wr* refused = nullptr;
  const int error = ibv_post_send(pair_->handle(), &request, &refused);
  if (error != 0) turn_.fail(verbs::call_status(error, "sending by RDMA"));
  return error == 0;
}

// Those before it that were not signalled are done too.
void SendQueue::on_completion(std::uint32_t sequence, const ibv_wc& completion) noexcept {
  if (completion.status != IBV_WC_SUCCESS) {
    const bool read = entry(sequence).kind == SentMemory::Kind::kLanding;
    return turn_.fail(verbs::to_status(completion.status, read ? "fetching by RDMA" : "sending by RDMA"));
  }
  const std::uint32_t behind = (sequence - completed_) & kSequenceMask;
  completed_up_to(completed_ + behind + 1);
  turn_.touch();
}

void SendQueue::on_queue_failed() noexcept {
  turn_.fail(
      {StatusCode::kUnavailable, Layer::kTransport, "the RDMA device does not say any more what completed"});
}

void SendQueue::completed_up_to(std::uint32_t end) noexcept {
  for (; completed_ != end; ++completed_) {
    const SentMemory sent = std::exchange(entry(completed_), {});
    if (sent.kind == SentMemory::Kind::kLanding) {
      reads_->on_read();
    } else {
      memory_.release(sent);
    }
  }
}

void SendQueue::retire(std::vector<SentMemory>& sent) noexcept {
  for (; completed_ != posted_; ++completed_) {
    const SentMemory memory = std::exchange(entry(completed_), {});
    if (memory.kind != SentMemory::Kind::kNone) sent.push_back(memory);
  }
}

void SendQueue::end() noexcept {
  if (std::exchange(ended_, true)) return;
  completions_.remove(place_);
  completed_up_to(posted_);
}

}  // namespace weft::detail::verbs_carrier
