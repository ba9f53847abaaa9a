// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/result.hpp"
#include "weft/detail/calls/stream/finish_stream.hpp"
#include "weft/detail/calls/stream/item_access.hpp"
#include "weft/detail/calls/stream/opened_stream.hpp"
#include "weft/detail/calls/stream/read_item.hpp"
#include "weft/detail/calls/stream/write_item.hpp"
#include "weft/detail/coro/cancel.hpp"
#include "weft/detail/functions/call.hpp"
#include "weft/detail/functions/codec_items.hpp"
#include "weft/detail/functions/named_first.hpp"

namespace weft {

namespace detail {

/// The record behind a ClientStream.
template <typename R>
class StartedStream final : public OpenedStream {
 public:
  StartedStream(CallTarget& target, const MethodKey& method, const CallOptions& options)
      : OpenedStream(target, method, std::make_unique<CallDetails>(options, false)) {}

  static void* operator new(std::size_t size) { return allocate_frame(size); }
  static void operator delete(void* block, std::size_t size) noexcept { release_frame(block, size); }

  /// Throws what encoding throws while it waits for a connection, and std::bad_alloc.
  template <typename... Arguments>
  void start(const Arguments&... arguments) {
    const LateEnd::Guard guard;
    const std::size_t size = encoded_size(arguments...);
    if constexpr (runs_hooks<Arguments...>()) {
      if (size != kUnencodable) kept_.keep(size, arguments...);
      const Begun begun = OpenedStream::open(size);
      if (begun.body == nullptr) return;
      kept_.copy_to(begun.body);
      return OpenedStream::opened(begun);
    }
    const Begun begun = OpenedStream::open(size);
    if (begun.body != nullptr) {
      try {
        encode_to(begun.body, size, arguments...);
      } catch (...) {  // a hook of the user's
        return PendingCall::take_back(begun.body);
      }
      OpenedStream::opened(begun);
    } else if (begun.waits()) {
      kept_.keep(size, arguments...);
    }
  }

  /// Gives the result, behind the end: a result once, and a failure again.
  Result<R> take_result() {
    if (!status().ok()) return Status{status()};
    if constexpr (std::is_void_v<R>) {
      return {};
    } else {
      if (std::exchange(given_, true)) return result_was_given();
      return answer_.take();
    }
  }

 private:
  std::size_t body_bytes() const override { return kept_.size(); }
  void encode_body(std::byte* to) const override {
    kept_.copy_to(to);
    const_cast<StartedStream*>(this)->on_sent();
  }
  void decode_answer(Bytes body, Status& failure) noexcept override {
    const PendingCall::Reading reading{*this};
    answer_.read(body, failure);
  }

  KeptRequest kept_;
  CodecAnswer<R> answer_;
  bool given_ = false;
};

}  // namespace detail

/// A stream that this client opened; returned by `client.open<f>(...)`. Reads items of type `Read` (void: the
/// handler sends none), writes items of type `Written` (void: it takes none), and ends with an `R`.
///
///     auto quotes = client.open<watch>("WFT");
///     while (auto quote = co_await quotes.next()) use(*quote);
///     if (!quotes.status().ok()) ...
///
/// It is on its way when open() returns, or waits for the connection. Each side is held back while the other
/// is a window (RpcLimits::stream_window) behind with reading. Dropping it before its end cancels it, also
/// for the handler. It has no timeout but CallOptions::timeout and ::deadline, both from its opening on; a
/// lost connection ends it with kUnavailable, and it does not begin again. Movable, while no coroutine waits.
/// Thread: the client's loop; one coroutine reads and one writes at a time. Must not outlive its client.
template <typename Read, typename Written, typename R>
class [[nodiscard("dropping a ClientStream cancels it")]] ClientStream {
 public:
  ClientStream() = default;
  explicit ClientStream(std::unique_ptr<detail::StartedStream<R>> record) noexcept
      : record_(std::move(record)) {}

  /// Waits for the next item: `std::optional<Read>`, empty behind the last one; then status() says how it
  /// ended. What views in an item show lives until next() or finish() is called. Cancel: the stream is
  /// cancelled.
  auto next() noexcept
    requires(!std::is_void_v<Read>)
  {
    return detail::ReadItem<detail::CodecItems<Read>, detail::OpenedItems>{items(), arena_};
  }

  /// Whole attachment of the item that next() returned last; empty if it has none. Lives until next() or
  /// finish() is called.
  Bytes attachment() const noexcept
    requires(!std::is_void_v<Read>)
  {
    return detail::shown_attachment(record().side());
  }
  /// The same, as the caller's own; attachment() is empty then.
  Buffer take_attachment() noexcept
    requires(!std::is_void_v<Read>)
  {
    return detail::take_shown_attachment(record().side());
  }

  /// Sends an item: `co_await stream.write(item)`. Waits while the handler is slow to read, or for the
  /// connection. Returns false when the handler takes no more items: it has ended, and finish() returns its
  /// outcome. `item` is encoded before the coroutine goes on. Cancel: the stream is cancelled.
  template <typename Item = Written>
    requires(!std::is_void_v<Written> && std::is_same_v<Item, Written>)
  auto write(const Item& item) noexcept {
    return detail::WriteItem<detail::CodecItems<Written>, detail::OpenedItems>{items(), item};
  }
  /// The same, and `attachment` goes behind the item and is given away. Waits until it is on its way, too:
  /// other frames pass between its pieces, other items of this stream do not.
  template <typename Item = Written>
    requires(!std::is_void_v<Written> && std::is_same_v<Item, Written>)
  auto write(const Item& item, Attachment attachment) noexcept {
    return detail::WriteItem<detail::CodecItems<Written>, detail::OpenedItems, Attachment>{
        items(), item, std::move(attachment)};
  }
  /// Refuses an item that g++ 12 would destroy twice.
  template <typename Item = Written, typename... Attachments>
    requires(std::is_same_v<Item, Written> && detail::dies_twice<Item>)
  auto write(Item&& item, Attachments&&... attachments) noexcept {
    detail::refuse_what_dies_twice<Item>();
    return write(std::as_const(item), std::forward<Attachments>(attachments)...);
  }
  /// Refuses an item of another type.
  template <typename Item, typename... Attachments>
    requires(!std::is_void_v<Written> && !std::is_same_v<std::remove_cvref_t<Item>, Written>)
  Task<bool> write(Item&& /*item*/, Attachments&&... /*attachments*/) noexcept {
    static_assert(
        std::is_same_v<std::remove_cvref_t<Item>, Written>,
        "weft cannot write this item: it is not of the item type of the handler's Reader<T>; make a "
        "T of it first, under a name");
    return {};
  }
  /// Says that no more items are written: the handler's reader sees their end. Reading goes on.
  void end_writing() noexcept
    requires(!std::is_void_v<Written>)
  {
    record().side().end_writing();
  }

  /// Ends writing, drops the items that were not read, and waits for the handler's end: its result or its
  /// failure, once. Cancel: the stream is cancelled.
  auto finish() noexcept { return detail::FinishStream<detail::StartedStream<R>>{record()}; }

  /// Ends the stream with kCancelled, also for the handler. Unread items are dropped.
  void cancel() noexcept {
    if (record_ != nullptr) record_->on_cancel(CancelReason::kRequested);
  }
  /// Returns true if the handler has ended, or the stream has failed; items may still be left to read.
  bool done() const noexcept { return record_ == nullptr || record_->done(); }
  /// Says why it failed; ok while it goes on, and when it ended well.
  Status status() const { return record_ == nullptr ? Status{} : record_->status(); }

 private:
  detail::StartedStream<R>& record() const noexcept {
    WEFT_ASSERT(record_ != nullptr, "a ClientStream that is empty, or was moved from, cannot be used");
    return *record_;
  }
  detail::OpenedItems items() const noexcept { return detail::OpenedItems{record()}; }

  std::unique_ptr<detail::StartedStream<R>> record_;
  detail::DecodeArena arena_;
};

/// Type of the stream that `client.open<M>(...)` returns.
template <auto M>
using StreamOf =
    ClientStream<typename detail::MethodTraits<M>::Writes, typename detail::MethodTraits<M>::Reads,
                 typename detail::OwnedResult<typename detail::MethodTraits<M>::Result>::Type>;

}  // namespace weft
