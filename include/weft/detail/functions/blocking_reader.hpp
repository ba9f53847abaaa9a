// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/functions/codec_items.hpp"
#include "weft/detail/functions/exchange_items.hpp"

namespace weft {

/// The items that a caller sends to a blocking handler: an ordinary function on a worker thread, with a
/// parameter `BlockingReader<T>&` after CallContext&, if it has that, and before the encoded parameters:
///
///     long add(weft::BlockingReader<int>& numbers) {
///       long sum = 0;
///       while (auto number = numbers.next()) sum += *number;
///       return sum;
///     }
///
/// The caller may be ahead by RpcLimits::stream_window bytes, and waits then. Thread: the handler's, and
/// others that it starts; one at a time. Valid until the handler has ended.
template <typename T>
class BlockingReader {
 public:
  using value_type = T;

  explicit BlockingReader(detail::StreamExchange& exchange) noexcept : items_(exchange) {}
  BlockingReader(const BlockingReader&) = delete;
  BlockingReader& operator=(const BlockingReader&) = delete;

  /// Blocks until there is an item; returns nothing after the last one, and when the caller cancelled or is
  /// gone, its deadline has passed or the server is closed. Views in an item are valid until next() is called
  /// again.
  std::optional<T> next() noexcept { return detail::read_blocking<detail::CodecItems<T>>(items_, arena_); }
  /// Whole attachment of the item that next() returned last; empty if it has none. Lives until next() is
  /// called again.
  Bytes attachment() const noexcept { return detail::shown_attachment(items_); }
  /// The same, as the caller's own; attachment() is empty then.
  Buffer take_attachment() noexcept { return detail::take_shown_attachment(items_); }
  /// Tells, after the end, why reading ended: ok when the caller sent its last item; otherwise kCancelled,
  /// kDeadlineExceeded, kInvalidArgument for bytes that are not a T, or kResourceExhausted. Thread: any.
  Status status() const noexcept { return items_.exchange().failure(); }

 private:
  detail::ExchangeReader items_;
  detail::DecodeArena arena_;
};

}  // namespace weft
