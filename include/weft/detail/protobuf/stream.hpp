// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/status.hpp"
#include "weft/detail/calls/stream/item_access.hpp"
#include "weft/detail/calls/stream/read_item.hpp"
#include "weft/detail/calls/stream/write_item.hpp"
#include "weft/detail/protobuf/message_items.hpp"

namespace weft::protobuf {

/// The messages that a caller streams to a method:
///
///     while (auto* number = co_await numbers.next()) sum += number->value();
///
/// The caller may be ahead by RpcLimits::stream_window bytes, and waits then. Thread: the method's loop; one
/// coroutine at a time waits. Valid until the method has ended.
template <typename Message>
class Reader {
 public:
  explicit Reader(weft::detail::StreamSide& side) noexcept : items_(side) {}
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  /// Waits for the next message: `Message*`, the reader's own, which may be changed, and is read into again
  /// when next() is called again. Null behind the last one, and when the caller gave up or is gone. Cancel:
  /// reading ends.
  auto next() noexcept {
    return weft::detail::ReadItem<detail::MessageItems<Message>, weft::detail::ServedItems>{items_, message_};
  }
  /// Tells, after the end, why reading ended: ok when the caller sent its last message; otherwise kCancelled,
  /// or kInvalidArgument for bytes that are not such a message, or kResourceExhausted.
  Status status() const { return items_.side().failure(); }

 private:
  weft::detail::ServedItems items_;
  Message message_;
};

/// The messages that a method streams to its caller, before it ends. Thread: the method's loop; one coroutine
/// at a time waits. Life: until the method has ended.
template <typename Message>
class Writer {
 public:
  explicit Writer(weft::detail::StreamSide& side) noexcept : items_(side) {}
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  /// Sends a message: `co_await writer.write(message)`. Waits while the caller is behind with reading.
  /// Returns false when the stream takes no more messages, or when this one cannot be sent; status() says
  /// why. Cancel: writing ends.
  auto write(const Message& message) noexcept {
    return weft::detail::WriteItem<detail::MessageItems<Message>, weft::detail::ServedItems>{items_, message};
  }
  /// Says why messages are not taken; ok while they are.
  Status status() const { return items_.side().failure(); }

 private:
  weft::detail::ServedItems items_;
};

}  // namespace weft::protobuf
