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
  /// `between` is all that stands between one attachment and the next, where that is one message. Returns how
  /// many bytes the next one has; 0 when there is none, or this cannot tell.
  virtual std::uint64_t next(Bytes between) = 0;
  /// Returns the place of the attachment that next() told of; Landing::skip() when that is not known yet.
  virtual Landing place() = 0;

 protected:
  ~LandingsAhead() = default;
};

}  // namespace weft::detail
