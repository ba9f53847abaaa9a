// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/transport/frame_sink.hpp"

namespace weft::detail {

/// Provides the landings of the attachments after the current one. A carrier asks for them one after the
/// other, in order.
class LandingsAhead {
 public:
  /// `between` is the content between one attachment and the next, as one message. Returns the size of the
  /// next attachment; 0 if there is none, or if it is unknown.
  virtual std::uint64_t next(Bytes between) = 0;
  /// Returns the place of the attachment of the last next(); Landing::skip() when it is not known yet.
  virtual Landing place() = 0;

 protected:
  ~LandingsAhead() = default;
};

}  // namespace weft::detail
