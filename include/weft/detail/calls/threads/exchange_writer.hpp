// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

#include "weft/detail/calls/threads/item_blocks.hpp"
#include "weft/detail/calls/threads/stream_exchange.hpp"

namespace weft::detail {

/// Items of a StreamExchange as a thread writes them. They are encoded without its lock: a small one beside
/// it, from where it is copied, a large one into a block of its own. Thread: one at a time.
class ExchangeWriter {
 public:
  /// `exchange` outlives it.
  explicit ExchangeWriter(StreamExchange& exchange) noexcept : exchange_(exchange) {}
  ExchangeWriter(const ExchangeWriter&) = delete;
  ExchangeWriter& operator=(const ExchangeWriter&) = delete;

  /// Blocks until an item may be written. False when none is taken any more.
  bool await_room() noexcept { return has_room_ || exchange_.put().await_room(); }
  /// Returns the place for the body of an item, to be written at once, and then end_item(). Only when
  /// await_room() was true. Null when it cannot be sent: the stream has ended then, and says why.
  /// `attachment`, which may be null, goes with it, and is taken then.
  std::byte* begin_item(std::size_t bytes, Attachment* attachment = nullptr) noexcept;
  /// False when it is not taken any more.
  bool end_item() noexcept;
  /// Replaces end_item(): nothing is sent.
  void take_back_item() noexcept { large_.clear(); }
  StreamExchange& exchange() const noexcept { return exchange_; }

 private:
  static constexpr std::size_t kSmallBytes = 1024;

  StreamExchange& exchange_;
  ItemBlocks large_;
  std::size_t small_bytes_ = 0;
  bool has_room_ = false;
  alignas(8) std::array<std::byte, kSmallBytes> small_;
};

}  // namespace weft::detail
