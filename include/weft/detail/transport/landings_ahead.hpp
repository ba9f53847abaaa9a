// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/transport/frame_sink.hpp"

namespace weft::detail {

/// Says where the attachments go that stand behind the one that lands now. A carrier asks about one after the
/// other, in their order.
class LandingsAhead {
 public:
  /// `between` is the content between one attachment and the next, as one message. Returns the size of the
  /// next attachment; 0 if there is none, or if it is unknown.
  virtual std::uint64_t next(Bytes between) = 0;
  /// Returns the place of the attachment that next() told of; Landing::skip() when that is not known yet.
  virtual Landing place() = 0;

 protected:
  ~LandingsAhead() = default;
};

}  // namespace weft::detail
