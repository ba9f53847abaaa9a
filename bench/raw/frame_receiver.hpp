// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "raw/frame_reader.hpp"
#include "raw/protocol.hpp"

namespace weft::raw {

/// Receives frames of one announced length, small or large, and shows each payload to a function.
class FrameReceiver {
 public:
  /// Large frames take turns in so many buffers.
  explicit FrameReceiver(std::uint64_t payload_bytes, unsigned buffers = 1) : small_(payload_bytes) {
    if (payload_bytes >= kLargeBytes) large_.emplace(payload_bytes, buffers);
  }

  /// One receive; calls `on_payload(Bytes)` for every frame that is whole now. The bytes are valid during
  /// that call only.
  template <typename OnPayload>
  ReadOutcome receive(Wire& wire, Scratch& scratch, OnPayload&& on_payload) {
    if (large_) return receive_large(wire, on_payload);
    const auto batch = small_.read(wire, scratch);
    const std::size_t step = small_.frame_bytes();
    for (std::size_t at = 0; at < batch.frames.size(); at += step) {
      on_payload(Bytes{batch.frames.subspan(at + kLengthBytes, step - kLengthBytes)});
    }
    return batch.outcome;
  }

 private:
  template <typename OnPayload>
  ReadOutcome receive_large(Wire& wire, OnPayload& on_payload) {
    const ReadOutcome outcome = large_->read(wire);
    if (outcome == ReadOutcome::kOk && large_->full()) {
      on_payload(Bytes{large_->frame().subspan(kLengthBytes)});
      large_->reuse();
    }
    return outcome;
  }

  SmallFrameReader small_;
  std::optional<LargeFrameReader> large_;
};

}  // namespace weft::raw
