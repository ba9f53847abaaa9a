// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <utility>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/calls/stream/opened_stream.hpp"
#include "weft/detail/calls/stream/stream_side.hpp"
#include "weft/detail/calls/stream/stream_wait.hpp"
#include "weft/detail/coro/cancel.hpp"
#include "weft/detail/memory/buffer.hpp"

namespace weft::detail {

/// Way to the items of a stream that this side serves.
class ServedItems {
 public:
  /// The stream outlives the coroutine of its handler.
  struct Wait {
    static constexpr bool has_lost_stream() noexcept { return false; }
  };

  explicit ServedItems(StreamSide& side) noexcept : side_(&side) {}

  StreamSide& side() const noexcept { return *side_; }
  /// Items are neither read nor written any more.
  void cancel(CancelReason reason) const noexcept { side_->close(to_status(reason), true); }
  void abandon(const Status& why) const noexcept { side_->abandon(why); }
  void begin_wait(Wait&, Ready&) const noexcept {}
  void end_wait(Wait&) const noexcept {}

 private:
  StreamSide* side_;
};

/// Way to the items of a stream that this side opened.
class OpenedItems {
 public:
  using Wait = StreamWait;

  explicit OpenedItems(OpenedStream& stream) noexcept : stream_(&stream) {}

  StreamSide& side() const noexcept { return stream_->side(); }
  void cancel(CancelReason reason) const noexcept { stream_->on_cancel(reason); }
  void abandon(const Status& why) const noexcept { stream_->abandon(why); }
  /// A coroutine begins to wait; `node` resumes it.
  void begin_wait(Wait& wait, Ready& node) const noexcept { stream_->waits().add(wait, node); }
  /// The coroutine goes on, or is destroyed. Not after has_lost_stream().
  void end_wait(Wait& wait) const noexcept { stream_->waits().remove(wait); }

 private:
  OpenedStream* stream_;
};

/// Attachment of the item that `side` shows, which stays there; empty when it has none.
inline Bytes shown_attachment(StreamSide& side) noexcept {
  const Buffer* const attachment = side.incoming().attachment();
  return attachment != nullptr ? attachment->bytes() : Bytes{};
}
/// The same, and it is its taker's.
inline Buffer take_shown_attachment(StreamSide& side) noexcept {
  Buffer* const attachment = side.incoming().attachment();
  return attachment != nullptr ? std::move(*attachment) : Buffer{};
}

/// Registers `wait`, which ends the stream on a cancel, with the scope of the awaiting coroutine. Returns
/// false when that is cancelled already, and so is the stream.
template <typename Promise, typename Access>
bool listen_to_scope(std::coroutine_handle<Promise> coroutine, CancelListener& wait,
                     const Access& access) noexcept {
  CancelScope* const scope = cancel_scope_of(coroutine);
  if (scope == nullptr) return true;
  if (scope->cancelled()) {
    access.cancel(scope->reason());
    return false;
  }
  scope->add(wait);
  return true;
}

}  // namespace weft::detail
