// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "weft/detail/base/result.hpp"
#include "weft/detail/calls/stream/finish_stream.hpp"
#include "weft/detail/calls/stream/item_access.hpp"
#include "weft/detail/calls/stream/opened_stream.hpp"
#include "weft/detail/calls/stream/read_item.hpp"
#include "weft/detail/calls/stream/write_item.hpp"
#include "weft/detail/untyped/call.hpp"
#include "weft/detail/untyped/method.hpp"

namespace weft {

namespace detail {

/// Format of items that are encoded already, and that are decoded later; see ReadItem and WriteItem.
struct UntypedItems {
  using Item = Bytes;
  using Value = std::optional<Buffer>;
  struct Memory {};

  static void clear(Memory&) noexcept {}
  static std::size_t bytes(const Bytes& item) { return item.size(); }
  static void write(std::byte* to, std::size_t, const Bytes& item) { std::ranges::copy(item, to); }
  static Value read(Bytes body, Memory&, Status& failure) noexcept {
    Value item{Buffer{}};
    keep_message(*item, body, failure);
    if (!failure.ok()) item.reset();
    return item;
  }
};

/// The record behind an UntypedStream.
class UntypedRecord final : public OpenedStream {
 public:
  UntypedRecord(CallTarget& target, const MethodKey& method, Buffer request, const CallOptions& options);

  void start();
  /// Gives the result, behind the end: a result once, and a failure again.
  Result<Buffer> take_result();

 private:
  std::size_t body_bytes() const override { return request_.size(); }
  void encode_body(std::byte* to) const override;
  void decode_answer(Bytes body, Status& failure) noexcept override { keep_message(answer_, body, failure); }

  const Buffer request_;
  Buffer answer_;
  bool given_ = false;
};

}  // namespace detail

/// A stream of a method that is known at run time, with items and result in bytes. See ClientStream for the
/// rules of its functions, for waiting, cancelling, and the thread. Must not outlive its client.
class [[nodiscard("dropping an UntypedStream cancels it")]] UntypedStream {
 public:
  /// Opens the stream; it is on its way when this returns. `request` is copied; memory of `options` is used
  /// as in a call. Errors: those of calls, as the status() of the stream. Throws std::bad_alloc.
  UntypedStream(Caller& client, const UntypedMethod& method, Bytes request, const CallOptions& options = {});

  /// Waits for the next item: `std::optional<Buffer>`, empty behind the last one; then status() says how it
  /// ended. For a method that gives no stream the first wait ends with the call.
  auto next() noexcept {
    return detail::ReadItem<detail::UntypedItems, detail::OpenedItems>{items(), memory_};
  }
  /// Takes the attachment of the item that next() returned last; empty if it has none.
  Buffer take_attachment() noexcept { return detail::take_shown_attachment(record_->side()); }
  /// Sends an item, which stays unchanged until the await is over. Returns false when the method takes no
  /// more items.
  auto write(const Bytes& item) noexcept {
    return detail::WriteItem<detail::UntypedItems, detail::OpenedItems>{items(), item};
  }
  /// The same with an attachment, which is given away.
  auto write(const Bytes& item, Attachment attachment) noexcept {
    return detail::WriteItem<detail::UntypedItems, detail::OpenedItems, Attachment>{items(), item,
                                                                                    std::move(attachment)};
  }
  void end_writing() noexcept { record_->side().end_writing(); }
  /// Ends writing, drops unread items, and waits for the end: Result<Buffer>, the result in bytes.
  auto finish() noexcept { return detail::FinishStream<detail::UntypedRecord>{*record_}; }

  void cancel() noexcept { record_->on_cancel(CancelReason::kRequested); }
  /// Returns true if the call has ended; items may still be left to read.
  bool done() const noexcept { return record_->done(); }
  /// Says why it failed; ok while it goes on, and when it ended well.
  Status status() const { return record_->status(); }

 private:
  detail::OpenedItems items() const noexcept { return detail::OpenedItems{*record_}; }

  /// The record refers to its key, so it is listed first.
  UntypedMethod method_;
  std::unique_ptr<detail::UntypedRecord> record_;
  [[no_unique_address]] detail::UntypedItems::Memory memory_;
};

}  // namespace weft
