// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/protobuf/message.hpp"

namespace weft::protobuf::detail {

/// Format of a stream's items that are messages; see weft::detail::ReadItem. Each item is read into the same
/// message, whose strings and lists have memory already then.
template <typename Message>
struct MessageItems {
  using Item = Message;
  using Value = Message*;
  using Memory = Message;

  static void clear(Message&) noexcept {}  // parsing does
  static Status check(const Message& item) {
    if (!item.IsInitialized()) [[unlikely]] {
      return incomplete(item);
    }
    return {};
  }
  static std::size_t bytes(const Message& item) {
    const std::size_t size = item.ByteSizeLong();
    return size <= kMessageBytesMax ? size : weft::detail::kUnencodable;
  }
  static void write(std::byte* to, std::size_t /*bytes*/, const Message& item) { write_message(item, to); }
  static Message* read(Bytes body, Message& message, Status& failure) noexcept {
    read_message(message, body, failure);
    if (failure.ok()) [[likely]] {
      return &message;
    }
    failure = failure.with_context("an item of a stream");
    return nullptr;
  }
};

}  // namespace weft::protobuf::detail
