// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/calls/stream/item_access.hpp"
#include "weft/detail/calls/stream/read_item.hpp"
#include "weft/detail/functions/codec_items.hpp"

namespace weft {

/// The items that a caller sends to a coroutine handler with a parameter `Reader<T>&` after CallContext&, if
/// it has that, and before the encoded parameters:
///
///     weft::Task<weft::Result<long>> add(weft::Reader<int>& numbers) {
///       long sum = 0;
///       while (auto number = co_await numbers.next()) sum += *number;
///       co_return sum;
///     }
///
/// The caller may be ahead by RpcLimits::stream_window bytes, and waits then. Thread: the handler's loop; one
/// coroutine at a time waits. Valid until the handler has ended.
template <typename T>
class Reader {
 public:
  using value_type = T;

  explicit Reader(detail::StreamSide& side) noexcept : items_(side) {}
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  /// Waits for the next item: `std::optional<T>`, empty behind the last one, and when the caller gave up or
  /// is gone. What views in an item show lives until next() is called again. Cancel: reading ends.
  auto next() noexcept {
    return detail::ReadItem<detail::CodecItems<T>, detail::ServedItems>{items_, arena_};
  }
  /// Whole attachment of the item that next() returned last; empty if it has none. Lives until next() is
  /// called again.
  Bytes attachment() const noexcept { return detail::shown_attachment(items_.side()); }
  /// The same, as the caller's own; attachment() is empty then.
  Buffer take_attachment() noexcept { return detail::take_shown_attachment(items_.side()); }
  /// Tells, after the end, why reading ended: ok when the caller sent its last item; otherwise kCancelled, or
  /// kInvalidArgument for bytes that are not a T, or kResourceExhausted.
  Status status() const { return items_.side().failure(); }

 private:
  detail::ServedItems items_;
  detail::DecodeArena arena_;
};

}  // namespace weft
