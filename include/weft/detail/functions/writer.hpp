// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>
#include <utility>

#include "weft/detail/base/status.hpp"
#include "weft/detail/calls/stream/item_access.hpp"
#include "weft/detail/calls/stream/write_item.hpp"
#include "weft/detail/functions/codec_items.hpp"
#include "weft/detail/functions/named_first.hpp"

namespace weft {

/// The items that a coroutine handler sends to its caller before it ends, with a parameter `Writer<T>&` after
/// CallContext& and Reader<T>&, if it has these, and before the encoded parameters. A handler that returns
/// Stream<T> needs no Writer. Thread: the handler's loop; one coroutine at a time waits. Valid until the
/// handler has ended.
template <typename T>
class Writer {
 public:
  using value_type = T;

  explicit Writer(detail::StreamSide& side) noexcept : items_(side) {}
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  /// Sends an item: `co_await writer.write(item)`. Waits while the caller is behind with reading. Returns
  /// false when the stream takes no more items; status() says why. `item` is encoded before this continues.
  /// Cancel: writing ends.
  auto write(const T& item) noexcept {
    return detail::WriteItem<detail::CodecItems<T>, detail::ServedItems>{items_, item};
  }
  /// The same, and `attachment` goes behind the item and is given away. Waits until it is on its way, too:
  /// other frames pass between its pieces, other items of this stream do not.
  auto write(const T& item, Attachment attachment) noexcept {
    return detail::WriteItem<detail::CodecItems<T>, detail::ServedItems, Attachment>{items_, item,
                                                                                     std::move(attachment)};
  }
  /// Refuses an item that g++ 12 would destroy twice.
  template <typename Item = T, typename... Attachments>
    requires(std::is_same_v<Item, T> && detail::dies_twice<Item>)
  auto write(Item&& item, Attachments&&... attachments) noexcept {
    detail::refuse_what_dies_twice<Item>();
    return write(std::as_const(item), std::forward<Attachments>(attachments)...);
  }
  /// Says why items are not taken; ok while they are.
  Status status() const { return items_.side().failure(); }

 private:
  detail::ServedItems items_;
};

}  // namespace weft
