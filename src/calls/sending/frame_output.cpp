// SPDX-License-Identifier: Apache-2.0
#include "calls/sending/frame_output.hpp"

#include <algorithm>

#include "calls/terms/admission.hpp"
#include "weft/detail/base/assert.hpp"

namespace weft::detail {

namespace {

// Memory that a connection may hold without being charged: one chunk.
constexpr std::size_t kUncharged = 64 * 1024;
// Room is found in such steps.
constexpr std::size_t kStep = 4 * 1024;

constexpr FixedFailure kNoMemoryForFrame{StatusCode::kResourceExhausted, Layer::kRpc, Retry::kReconnect,
                                         "out of memory for a frame"};

}  // namespace

FrameOutput::FrameOutput(Connection& connection, const RpcLimits& limits, LocalBudget& process)
    : connection_(connection),
      outbox_(connection.outbox()),
      process_(process),
      high_water_(limits.outbox_high_water),
      items_room_(std::min(kItemsRoom, high_water_ / 2)),
      room_(std::min(kSmallBytes, high_water_) + 1),
      full_at_(high_water_) {}

std::byte* FrameOutput::begin_around(wire::FrameHeader header, const LentRuns& runs) {
  const std::size_t bytes = wire::head_bytes(header.body_bytes, false) - runs.bytes();
  std::byte* const frame = outbox_.append(bytes);
  if (frame == nullptr) return close_for_memory();
  store_le<std::uint64_t>(frame + bytes - 8, 0);
  wire::store_header(frame, header);
  frame_ = frame;
  body_bytes_ = header.body_bytes;
  return frame + wire::kHeaderBytes;
}

bool FrameOutput::end_around(const LentRuns& runs, SendLease* lease, const ChunkRef& chunk,
                             bool more_follows) {
  WEFT_ASSERT(runs.is_placed(), "a body was written otherwise than it was measured");
  if (outbox_.put_in(runs, lease, chunk, more_follows)) return true;
  close_for_memory();
  return false;
}

void FrameOutput::take_back(const std::byte* body) noexcept {
  WEFT_ASSERT(body == frame_ + wire::kHeaderBytes, "while a body was encoded, another frame was begun");
  outbox_.take_back(frame_);
}

void FrameOutput::send(wire::FrameHeader header, std::string_view text) {
  header.body_bytes = static_cast<std::uint32_t>(text.size());
  if (std::byte* body = begin(header)) {
    std::copy_n(as_bytes(text).begin(), text.size(), body);
    end();
  }
}

// A caller without room waits for a notification. The outbox must drain first even when the only shortage is
// memory used by other connections.
bool FrameOutput::find_room() noexcept {
  if (shut_) return false;
  const std::size_t queued = outbox_.queued_bytes();
  if (queued > high_water_ && full_at_ == high_water_) full_at_ = queued;
  if (queued > high_water_) {
    // This function is called again before any writer adds to the queue.
    room_ = 0;
    connection_.tell_when_drained(high_water_ / 2);
    return false;
  }
  full_at_ = high_water_;
  if (reserve(kStep)) {
    if (!crowded_) room_ = std::min(queued + kStep, high_water_) + 1;
    return true;
  }
  connection_.tell_when_drained(queued / 2);
  return false;
}

std::size_t FrameOutput::charge_for(std::size_t held) const noexcept {
  return held <= kUncharged && !charges_first_chunk_ ? 0 : held;
}

// The first chunks of many peers that read nothing could fill the memory: an eighth is left to calls.
bool FrameOutput::begin_charging_first_chunk() noexcept {
  const std::size_t free = process_.free();
  if (free < kUncharged || free - kUncharged < process_.shared()->limit() / 8) return false;
  charges_first_chunk_ = true;
  if (reserve(1)) return true;
  charges_first_chunk_ = false;
  return false;
}

// Charges the memory in use, and the chunk that `bytes` more would take.
bool FrameOutput::reserve(std::size_t bytes, std::size_t kept) noexcept {
  const std::size_t wanted = charge_for(outbox_.held_bytes(bytes) + kept);
  if (wanted <= charged_) return true;
  const std::size_t more = wanted - charged_;
  if (!leaves_others_a_share(charged_, more, process_.free()) || !process_.try_reserve(more)) return false;
  charged_ = wanted;
  connection_.tell_when_drained(kSmallBytes);
  return true;
}

// The end is not seen before drained(): requests that waited are taken then, before others.
void FrameOutput::crowd(bool crowded) noexcept {
  if (is_crowd_over_ != crowded) return;
  is_crowd_over_ = !crowded;
  if (!crowded) return connection_.tell_when_drained(high_water_);
  crowded_ = true;
  room_ = 0;
}

void FrameOutput::give_back_unused() noexcept {
  if (outbox_.empty()) charges_first_chunk_ = false;
  const std::size_t wanted = charge_for(outbox_.held_bytes());
  if (wanted >= charged_) return;
  process_.release(charged_ - wanted);
  charged_ = wanted;
}

void FrameOutput::drained() noexcept {
  give_back_unused();
  if (is_crowd_over_) crowded_ = false;
  if (!crowded_ && !shut_) room_ = std::min(kSmallBytes, high_water_) + 1;
  full_at_ = high_water_;
  if (charged_ != 0) connection_.tell_when_drained(kSmallBytes);
}

std::byte* FrameOutput::close_for_memory() {
  connection_.close(Status::of<kNoMemoryForFrame>());
  return nullptr;
}

}  // namespace weft::detail
