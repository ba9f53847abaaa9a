// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "raw/frame_reader.hpp"
#include "raw/wire.hpp"
#include "weft/detail/base/bytes.hpp"

namespace weft::raw {

/// Sends bytes; keeps a copy only of what the socket did not take.
class ByteOutbox {
 public:
  /// Returns false when the peer has gone.
  bool send(Wire& wire, Bytes bytes);
  /// Goes on with what is left. Returns false when the peer has gone.
  bool flush(Wire& wire);
  bool blocked() const { return !left_.empty(); }

 private:
  std::vector<std::byte> left_;
  std::size_t done_ = 0;
};

/// Sends large frames that are nothing but a tag in front of one shared pattern: no copies at all.
class PatternOutbox {
 public:
  /// `pattern` is the payload with any tag; it must outlive the outbox.
  explicit PatternOutbox(Bytes pattern) : pattern_(pattern) {}

  void add(std::uint64_t tag) { tags_.push_back(tag); }
  /// One send for each frame, until the socket takes no more. Returns false when the peer has gone.
  bool flush(Wire& wire);
  bool blocked() const { return !tags_.empty(); }
  std::size_t frames() const { return tags_.size(); }

 private:
  Bytes pattern_;
  std::deque<std::uint64_t> tags_;
  std::size_t done_ = 0;
};

/// Sends received frames back from the buffers they came in, one send each, and keeps the emptied buffers
/// for the next ones.
class EchoOutbox {
 public:
  static constexpr std::size_t kFramesMax = 4;

  explicit EchoOutbox(std::size_t frame_bytes) : frame_bytes_(frame_bytes) {}

  void add(FrameBuffer frame) { queue_.push_back(std::move(frame)); }
  bool flush(Wire& wire);
  bool blocked() const { return !queue_.empty(); }
  /// Says that the server must not read on, because the peer does not take its answers.
  bool full() const { return queue_.size() >= kFramesMax; }
  FrameBuffer take_buffer();

 private:
  std::size_t frame_bytes_;
  std::deque<FrameBuffer> queue_;
  std::vector<FrameBuffer> free_;
  std::size_t done_ = 0;
};

}  // namespace weft::raw
