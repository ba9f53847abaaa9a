// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/transport/frame_sink.hpp"
#include "weft/detail/transport/landings_ahead.hpp"
#include "weft/detail/wire/frame.hpp"

namespace weft::detail {

/// Reads the heads between attachments, for places to be known before the frames come to be received: exactly
/// as a StreamFramer will read them, so that it finds the same attachments there. Of frames without
/// checksums.
class HeadsAhead final : public LandingsAhead {
 public:
  /// Begins behind an attachment of `attachment_bytes`. All outlive it.
  HeadsAhead(FrameSink& sink, const wire::FrameLimits& limits, std::uint64_t attachment_bytes) noexcept
      : sink_(sink), limits_(limits) {
    header_.attachment_bytes = attachment_bytes;
  }

  std::uint64_t next(Bytes between) override;
  Landing place() override { return sink_.on_attachment_ahead(header_); }

 private:
  FrameSink& sink_;
  const wire::FrameLimits& limits_;
  /// Header of the frame whose attachment comes next; at first, of the one whose attachment lands.
  wire::FrameHeader header_{};
};

}  // namespace weft::detail
