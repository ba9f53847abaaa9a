// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "raw/frame_reader.hpp"
#include "raw/outbox.hpp"
#include "raw/wire.hpp"
#include "weft/detail/base/bytes.hpp"

namespace weft::raw {

/// Sends frames of one length, made of a tag and a pattern: a client's requests, or a server's generated
/// answers. Small ones are gathered in `scratch.out` and leave in one send; large ones leave one by one from
/// the pattern itself.
class FrameSender {
 public:
  static constexpr std::size_t kLargeFramesMax = 4;

  /// `pattern` is the whole payload with any tag; it must outlive the sender.
  explicit FrameSender(Bytes pattern);

  /// Adds one frame. Between the first `add` and `finish` nobody else may use `scratch.out`. Returns false
  /// when the peer has gone.
  bool add(Wire& wire, Scratch& scratch, std::uint64_t tag);
  /// Sends what was added. Returns false when the peer has gone.
  bool finish(Wire& wire, Scratch& scratch);
  /// Goes on with what the socket did not take. Returns false when the peer has gone.
  bool flush(Wire& wire);

  bool blocked() const { return small_.blocked() || large_.blocked(); }
  /// A server that reads on while this is true would gather answers without end.
  bool full() const { return small_.blocked() || large_.frames() >= kLargeFramesMax; }

 private:
  Bytes pattern_;
  bool is_large_;
  std::size_t gathered_ = 0;
  ByteOutbox small_;
  PatternOutbox large_;
};

}  // namespace weft::raw
