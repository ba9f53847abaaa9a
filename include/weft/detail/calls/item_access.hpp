// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/base/status.hpp"
#include "weft/coro/cancel.hpp"
#include "weft/detail/calls/opened_stream.hpp"
#include "weft/detail/calls/stream_side.hpp"

namespace weft::detail {

/// Way to the items of a stream that this side serves.
class ServedItems {
 public:
  explicit ServedItems(StreamSide& side) noexcept : side_(&side) {}

  StreamSide& side() const noexcept { return *side_; }
  /// Items are neither read nor written any more.
  void cancel(CancelReason reason) const noexcept { side_->close(to_status(reason), true); }
  void abandon(const Status& why) const noexcept { side_->close(why, true); }

 private:
  StreamSide* side_;
};

/// Way to the items of a stream that this side opened.
class OpenedItems {
 public:
  explicit OpenedItems(OpenedStream& stream) noexcept : stream_(&stream) {}

  StreamSide& side() const noexcept { return stream_->side(); }
  void cancel(CancelReason reason) const noexcept { stream_->on_cancel(reason); }
  void abandon(const Status& why) const noexcept { stream_->abandon(why); }

 private:
  OpenedStream* stream_;
};

}  // namespace weft::detail
