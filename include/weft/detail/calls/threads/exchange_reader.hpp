// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/calls/threads/item_blocks.hpp"
#include "weft/detail/calls/threads/stream_exchange.hpp"

namespace weft::detail {

/// Reads the items of a StreamExchange one by one, out of batches. Thread: one at a time.
class ExchangeReader {
 public:
  /// `exchange` outlives it.
  explicit ExchangeReader(StreamExchange& exchange) noexcept : exchange_(exchange) {}
  ExchangeReader(const ExchangeReader&) = delete;
  ExchangeReader& operator=(const ExchangeReader&) = delete;

  /// Blocks until there is an item; returns nothing after the last one. The bytes are valid until the next
  /// call.
  std::optional<Bytes> next() noexcept { return next(true); }
  /// The same without blocking: also returns nothing when would_wait().
  std::optional<Bytes> try_next() noexcept { return next(false); }
  /// The last returned item cannot be decoded, by `why`: drops it with its attachment, and stops reading.
  void fail(const Status& why) noexcept;
  /// Attachment of the last returned item, which may be moved from; null when it has none.
  Buffer* attachment() const noexcept {
    Attachment* const came = shows_ ? items_.attachment() : nullptr;
    return came != nullptr ? &came->owner() : nullptr;
  }
  /// Returns true if next() would block.
  bool would_wait() const noexcept;
  StreamExchange& exchange() const noexcept { return exchange_; }

 private:
  std::optional<Bytes> next(bool waits) noexcept;
  void take_shown() noexcept;

  StreamExchange& exchange_;
  ItemBlocks items_;
  /// Cost of items taken since the last report to the exchange, and the cost at which the next report is due.
  std::uint64_t taken_ = 0;
  std::uint64_t tells_at_ = 0;
  /// Cost of the last returned item.
  std::uint64_t shown_ = 0;
  bool shows_ = false;
};

}  // namespace weft::detail
