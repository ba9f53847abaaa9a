// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/status.hpp"
#include "weft/detail/functions/codec_items.hpp"
#include "weft/detail/functions/exchange_items.hpp"

namespace weft {

/// The items that a blocking handler sends to its caller before it ends, with a parameter
/// `BlockingWriter<T>&` after CallContext& and BlockingReader<T>&, if it has these, and before the encoded
/// parameters:
///
///     void count(weft::BlockingWriter<int>& numbers, int to) {
///       for (int number = 0; number < to && numbers.write(number); ++number) {}
///     }
///
/// Every written item is sent before the handler's answer. Thread: the handler's, and others that it starts;
/// one writer at a time, concurrently with one reader. Valid until the handler has ended.
template <typename T>
class BlockingWriter {
 public:
  using value_type = T;

  explicit BlockingWriter(detail::StreamExchange& exchange) noexcept : items_(exchange) {}
  BlockingWriter(const BlockingWriter&) = delete;
  BlockingWriter& operator=(const BlockingWriter&) = delete;

  /// Sends an item. Blocks while the caller is behind with reading; 64 KiB of items are accepted before that.
  /// Returns false when the stream takes no more items; status() says why. Throws the exception of encoding
  /// `item`, and sends nothing then.
  bool write(const T& item) { return detail::write_blocking<detail::CodecItems<T>>(items_, item); }
  /// The same, and `attachment` goes behind the item and is given away; it counts in the 64 KiB.
  bool write(const T& item, Attachment attachment) {
    return detail::write_blocking<detail::CodecItems<T>>(items_, item, &attachment);
  }
  /// Says why items are not taken; ok while they are. Thread: any.
  Status status() const noexcept { return items_.exchange().failure(); }

 private:
  detail::ExchangeWriter items_;
};

}  // namespace weft
