// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/calls/item_blocks.hpp"
#include "weft/detail/calls/stream_exchange.hpp"

namespace weft::detail {

/// Items of a StreamExchange as a thread reads them: one by one, of batches that it takes. Thread: one at a
/// time.
class ExchangeReader {
 public:
  /// `exchange` outlives it.
  explicit ExchangeReader(StreamExchange& exchange) noexcept : exchange_(exchange) {}
  ExchangeReader(const ExchangeReader&) = delete;
  ExchangeReader& operator=(const ExchangeReader&) = delete;

  /// Blocks until there is an item; nothing behind the last one. It is valid until the next one is asked for.
  std::optional<Bytes> next() noexcept { return next(true); }
  /// The same without blocking: nothing also when would_wait().
  std::optional<Bytes> try_next() noexcept { return next(false); }
  /// Attachment of the item that was given last, which may be moved from; null when it has none.
  Buffer* attachment() const noexcept {
    Attachment* const came = shows_ ? items_.attachment() : nullptr;
    return came != nullptr ? &came->owner() : nullptr;
  }
  /// next() would wait.
  bool would_wait() const noexcept;
  StreamExchange& exchange() const noexcept { return exchange_; }

 private:
  std::optional<Bytes> next(bool waits) noexcept;

  StreamExchange& exchange_;
  ItemBlocks items_;
  /// Cost of what was taken since the exchange was told, and of which it is told.
  std::uint64_t taken_ = 0;
  std::uint64_t tells_at_ = 0;
  /// Cost of the item that was given last.
  std::uint64_t shown_ = 0;
  bool shows_ = false;
};

}  // namespace weft::detail
