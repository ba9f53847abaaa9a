// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "raw/protocol.hpp"
#include "raw/wire.hpp"
#include "weft/detail/base/bytes.hpp"

namespace weft::raw {

/// Outcome of one receive.
enum class ReadOutcome : std::uint8_t {
  kOk,      ///< frames, or a part of one, or nothing yet
  kClosed,  ///< the peer has gone
  kBroken,  ///< the peer sent a length it had not announced
};

/// Memory that all connections of one thread share, because what one receive brought is answered before the
/// next one.
struct Scratch {
  Scratch() : in(kScratchBytes), out(kScratchBytes) {}
  std::vector<std::byte> in;
  std::vector<std::byte> out;
};

/// Receives many small frames of one announced length at once. Keeps only the part of a frame that the last
/// receive left over, so an idle connection costs nothing.
class SmallFrameReader {
 public:
  explicit SmallFrameReader(std::uint64_t payload_bytes) : payload_bytes_(payload_bytes) {}

  struct Batch {
    ReadOutcome outcome;
    /// Whole frames, one after the other, in the scratch memory; may be empty.
    MutableBytes frames;
  };
  /// One receive into `scratch.in`.
  Batch read(Wire& wire, Scratch& scratch);

  std::size_t frame_bytes() const { return kLengthBytes + payload_bytes_; }

 private:
  std::uint64_t payload_bytes_;
  std::vector<std::byte> rest_;
};

/// A buffer for one large frame, length prefix included.
using FrameBuffer = std::unique_ptr<std::byte[]>;

/// Receives large frames of one announced length straight into buffers that hold nothing else.
class LargeFrameReader {
 public:
  /// Frames that reuse() begins take turns in so many buffers.
  explicit LargeFrameReader(std::uint64_t payload_bytes, unsigned buffers = 1);

  /// One receive. When `full()` is true afterwards, the frame is in `buffer()`.
  ReadOutcome read(Wire& wire);

  bool full() const { return have_ == frame_bytes_; }
  MutableBytes frame() { return {buffer_.get(), frame_bytes_}; }
  std::size_t frame_bytes() const { return frame_bytes_; }
  /// Starts the next frame, in the buffer whose turn it is.
  void reuse();
  /// Starts the next frame in `next`, which must have room for `frame_bytes()`, and hands out the full one.
  FrameBuffer exchange(FrameBuffer next);

 private:
  std::size_t frame_bytes_;
  std::size_t have_ = 0;
  FrameBuffer buffer_;
  /// Buffers of which each has another turn, and the next of them.
  std::vector<FrameBuffer> others_;
  std::size_t next_ = 0;
};

}  // namespace weft::raw
