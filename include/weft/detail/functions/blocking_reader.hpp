// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/functions/codec_items.hpp"
#include "weft/detail/functions/exchange_items.hpp"

namespace weft {

/// The items that a caller sends to a handler that blocks: an ordinary function, which runs on a worker's
/// thread and asks for them by a parameter `BlockingReader<T>&`, behind CallContext& if it has that, and
/// before the parameters that travel:
///
///     long add(weft::BlockingReader<int>& numbers) {
///       long sum = 0;
///       while (auto number = numbers.next()) sum += *number;
///       return sum;
///     }
///
/// The caller may be as many bytes ahead as RpcLimits::stream_window says, and waits then. Thread: the
/// handler's, and others of its own; one at a time. Life: until the handler has ended.
template <typename T>
class BlockingReader {
 public:
  using value_type = T;

  explicit BlockingReader(detail::StreamExchange& exchange) noexcept : items_(exchange) {}
  BlockingReader(const BlockingReader&) = delete;
  BlockingReader& operator=(const BlockingReader&) = delete;

  /// Blocks until there is an item; empty behind the last one, and when the caller gave up or is gone, its
  /// time is over or the server is closed. What views in an item show lives until next() is called again.
  std::optional<T> next() noexcept { return detail::read_blocking<detail::CodecItems<T>>(items_, arena_); }
  /// Whole attachment of the item that next() returned last; empty if it has none. Lives until next() is
  /// called again.
  Bytes attachment() const noexcept { return detail::shown_attachment(items_); }
  /// The same, as the caller's own; attachment() is empty then.
  Buffer take_attachment() noexcept { return detail::take_shown_attachment(items_); }
  /// Tells, behind the end, how it came: ok when the caller sent its last item; else why no more of them
  /// came: kCancelled, kDeadlineExceeded, kInvalidArgument for bytes that are no T, or kResourceExhausted.
  /// Thread: any.
  Status status() const noexcept { return items_.exchange().failure(); }

 private:
  detail::ExchangeReader items_;
  detail::DecodeArena arena_;
};

}  // namespace weft
