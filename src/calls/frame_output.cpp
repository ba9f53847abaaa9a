// SPDX-License-Identifier: Apache-2.0
#include "calls/frame_output.hpp"

#include <algorithm>

#include "calls/admission.hpp"
#include "weft/base/assert.hpp"

namespace weft {

namespace {

constexpr std::size_t kStep = 16 * 1024;

constexpr FixedFailure kNoMemoryForFrame{StatusCode::kResourceExhausted, Layer::kRpc, Retry::kReconnect,
                                         "out of memory for a frame"};

/// What is charged when `bytes` wait.
std::size_t charge_for(std::size_t bytes) {
  return bytes <= FrameOutput::kUncharged ? 0 : (bytes - FrameOutput::kUncharged + kStep - 1) / kStep * kStep;
}

}  // namespace

FrameOutput::FrameOutput(Connection& connection, const RpcLimits& limits, LocalBudget& process)
    : connection_(connection),
      outbox_(connection.outbox()),
      process_(process),
      high_water_(limits.outbox_high_water) {
  set_charged(0);
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

// Whoever is told that there is no room waits to hear that there is: also when there is nothing to wait for
// but other connections' memory, the outbox drains first.
bool FrameOutput::find_room() noexcept {
  if (outbox_.queued_bytes() > high_water_) {
    connection_.tell_when_drained(high_water_ / 2);
    return false;
  }
  if (reserve_all(outbox_.copied_bytes())) return true;
  connection_.tell_when_drained(room_ / 2);
  return false;
}

bool FrameOutput::reserve(std::size_t bytes) noexcept {
  return reserve_all(outbox_.copied_bytes() + bytes);
}

bool FrameOutput::reserve_all(std::size_t bytes) noexcept {
  const std::size_t wanted = charge_for(bytes);
  if (wanted <= charged_) return true;
  const std::size_t more = wanted - charged_;
  if (!leaves_others_a_share(charged_, more, process_.free()) || !process_.try_reserve(more)) return false;
  set_charged(wanted);
  connection_.tell_when_drained(kUncharged);
  return true;
}

void FrameOutput::drained() noexcept {
  const std::size_t wanted = charge_for(outbox_.copied_bytes());
  if (wanted < charged_) {
    process_.release(charged_ - wanted);
    set_charged(wanted);
  }
  if (charged_ != 0) connection_.tell_when_drained(kUncharged);
}

void FrameOutput::set_charged(std::size_t bytes) noexcept {
  charged_ = bytes;
  room_ = std::min(kUncharged + charged_, high_water_);
}

std::byte* FrameOutput::close_for_memory() {
  connection_.close(Status::of<kNoMemoryForFrame>());
  return nullptr;
}

}  // namespace weft
