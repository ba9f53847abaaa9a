// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <utility>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/calls/threads/exchange_reader.hpp"
#include "weft/detail/calls/threads/exchange_writer.hpp"

/// Items of a stream for threads that block. A Format defines the items, as for ReadItem and WriteItem.
namespace weft::detail {

/// Blocks until there is an item; an empty Value behind the last one. Bytes that are no item end the stream.
template <typename Format>
typename Format::Value read_blocking(ExchangeReader& items, typename Format::Memory& memory) noexcept {
  Format::clear(memory);
  const std::optional<Bytes> body = items.next();
  if (!body) return {};
  Status failure;
  typename Format::Value item = Format::read(*body, memory, failure);
  if (!item) [[unlikely]] {
    items.fail(failure);
  }
  return item;
}

/// Attachment of the item that `items` gave last, which stays there; empty when it has none.
inline Bytes shown_attachment(const ExchangeReader& items) noexcept {
  const Buffer* const attachment = items.attachment();
  return attachment != nullptr ? attachment->bytes() : Bytes{};
}
/// The same, and it is its taker's.
inline Buffer take_shown_attachment(const ExchangeReader& items) noexcept {
  Buffer* const attachment = items.attachment();
  return attachment != nullptr ? std::move(*attachment) : Buffer{};
}

/// Blocks until `item` is taken, with `attachment` unless that is null or empty; false when none is taken any
/// more. Throws what encoding it throws, and has written nothing then.
template <typename Format>
bool write_blocking(ExchangeWriter& items, const typename Format::Item& item,
                    Attachment* attachment = nullptr) {
  if (!items.await_room()) return false;
  if (attachment != nullptr && attachment->empty()) attachment = nullptr;
  const std::size_t bytes = Format::bytes(item);
  std::byte* const body = items.begin_item(bytes, attachment);
  if (body == nullptr) return false;
  try {
    Format::write(body, bytes, item);
  } catch (...) {  // a hook of the user's
    items.take_back_item();
    throw;
  }
  return items.end_item();
}

}  // namespace weft::detail
