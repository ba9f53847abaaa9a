// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/result.hpp"
#include "weft/detail/calls/threads/blocked_call.hpp"
#include "weft/detail/calls/threads/stream_errand.hpp"
#include "weft/detail/coro/cancel.hpp"
#include "weft/detail/functions/codec_items.hpp"
#include "weft/detail/functions/errand_body.hpp"
#include "weft/detail/functions/exchange_items.hpp"
#include "weft/detail/functions/method.hpp"

namespace weft {

/// A stream whose items block the threads that read and write them; returned by
/// `weft::blocking(client).open<f>(...)`. Reads items of type `Read` (void: the handler sends none), writes
/// items of type `Written` (void: it takes none), and ends with an `R`.
///
///     auto quotes = weft::blocking(client).open<watch>("WFT");
///     while (auto quote = quotes.next()) use(*quote);
///     if (!quotes.status().ok()) ...
///
/// Dropping it before its end cancels it, at once. It has no timeout but CallOptions::timeout and ::deadline;
/// when the client's loop does not turn it ends a second later than that. It ends with kCancelled when a stop
/// was requested from the stop_token, when the loop was stopped or the client has ended; items that had
/// arrived before the latter two are still read. Movable, while no thread waits. Thread: any without a loop;
/// one thread reads and one writes at a time.
template <typename Read, typename Written, typename R>
class [[nodiscard("dropping a BlockingStream cancels it")]] BlockingStream {
 public:
  /// One that could not be made, for the reason of `failure`.
  explicit BlockingStream(Status failure) noexcept : failure_(std::move(failure)) {}
  /// Throws std::bad_alloc.
  explicit BlockingStream(detail::StreamErrand::Owner errand)
      : ends_(std::make_unique<Ends>(std::move(errand))) {}

  /// Blocks until there is an item; returns nothing after the last one, and then status() tells how the
  /// stream ended. Views in an item are valid until next() or finish() is called.
  std::optional<Read> next() noexcept
    requires(!std::is_void_v<Read>)
  {
    if (!may_block()) return std::nullopt;
    return detail::read_blocking<detail::CodecItems<Read>>(ends_->reader, ends_->arena);
  }

  /// Whole attachment of the item that next() returned last; empty if it has none. Lives until next() or
  /// finish() is called.
  Bytes attachment() const noexcept
    requires(!std::is_void_v<Read>)
  {
    return ends_ != nullptr ? detail::shown_attachment(ends_->reader) : Bytes{};
  }
  /// The same, as the caller's own; attachment() is empty then.
  Buffer take_attachment() noexcept
    requires(!std::is_void_v<Read>)
  {
    return ends_ != nullptr ? detail::take_shown_attachment(ends_->reader) : Buffer{};
  }

  /// Sends an item. Blocks while the handler is slow to read, or until there is a connection; 64 KiB of items
  /// are accepted before that. Returns false when the handler takes no more items: it has ended, and finish()
  /// returns its outcome. Passes on an exception of encoding `item`, and sends nothing then.
  template <typename Item = Written>
    requires(!std::is_void_v<Written> && std::is_same_v<Item, Written>)
  bool write(const Item& item) {
    return may_block() && detail::write_blocking<detail::CodecItems<Written>>(ends_->writer, item);
  }
  /// The same, and `attachment` goes behind the item and is given away; it counts in the 64 KiB.
  template <typename Item = Written>
    requires(!std::is_void_v<Written> && std::is_same_v<Item, Written>)
  bool write(const Item& item, Attachment attachment) {
    return may_block() &&
           detail::write_blocking<detail::CodecItems<Written>>(ends_->writer, item, &attachment);
  }
  /// Says that no more items are written: the handler's reader sees their end. Reading goes on.
  void end_writing() noexcept
    requires(!std::is_void_v<Written>)
  {
    if (ends_ != nullptr) ends_->errand->put().end_writing();
  }

  /// Ends writing, drops the unread items, and blocks until the handler has ended: returns its result or its
  /// failure, once. Fills CallOptions::answer_metadata, which nothing else does for a BlockingStream. No
  /// other thread may read or write.
  Result<R> finish() {
    if (ends_ == nullptr) return Status{failure_};
    if (!may_block()) return status();
    detail::StreamErrand& errand = *ends_->errand;
    errand.put().end_writing();
    errand.arrived().discard();
    Status failure = errand.await_end();
    errand.show_metadata();
    if (!failure.ok()) return failure;
    return detail::result_of<R>(errand);
  }

  /// Ends the stream with kCancelled, also for the handler; waiting threads continue at once. Unread items
  /// are dropped. Thread: any, while the BlockingStream exists.
  void cancel() noexcept {
    if (ends_ != nullptr) ends_->errand->abandon(to_status(CancelReason::kRequested));
  }
  /// Returns true if the handler has ended, or the stream has failed; items may still be left to read.
  /// Thread: any.
  bool done() const noexcept { return ends_ == nullptr || ends_->errand->has_ended(); }
  /// Says why it failed; ok while it goes on, and when it ended well. Thread: any.
  Status status() const noexcept { return ends_ == nullptr ? failure_ : ends_->errand->failure(); }

 private:
  /// Stays where it is: other threads look at it while one waits.
  struct Ends {
    explicit Ends(detail::StreamErrand::Owner its_errand) noexcept
        : errand(std::move(its_errand)), reader(*errand), writer(*errand) {}
    detail::StreamErrand::Owner errand;
    detail::ExchangeReader reader;
    detail::ExchangeWriter writer;
    detail::DecodeArena arena{};
  };

  bool may_block() const noexcept { return ends_ != nullptr && ends_->errand->may_block(); }

  std::unique_ptr<Ends> ends_;
  Status failure_;
};

/// Type of the stream that `weft::blocking(client).open<M>(...)` returns.
template <auto M>
using BlockingStreamOf =
    BlockingStream<typename detail::MethodTraits<M>::Writes, typename detail::MethodTraits<M>::Reads,
                   typename detail::OwnedResult<typename detail::MethodTraits<M>::Result>::Type>;

namespace detail {

/// Opens a stream of `M` at `door`, with its arguments encoded; the returned stream has already ended if that
/// fails. Throws only std::bad_alloc, even if the arguments throw.
template <auto M, typename... Given>
BlockingStreamOf<M> open_blocking(const std::shared_ptr<CallDoor>& door, const CallOptions& options,
                                  const std::stop_token& stop, Given&&... arguments) {
  static_assert(has_items<MethodTraits<M>>,
                "weft cannot open this stream: the function has one answer, for it takes no Reader and no "
                "Writer and returns no Stream; call it: weft::blocking(client).call<f>(arguments...)");
  if constexpr (CallableWith<M, Given...>) {
    Status failure = BlockedCall::check_thread(*door);
    StreamErrand::Owner errand;
    if (failure.ok()) {
      errand =
          make_stream_errand<M>({door, &method_key<M>, options}, failure, std::forward<Given>(arguments)...);
    }
    if (errand == nullptr) return BlockingStreamOf<M>{std::move(failure)};
    StreamErrand& its = *errand;
    BlockingStreamOf<M> stream{std::move(errand)};
    its.send(stop);
    return stream;
  } else {
    explain_arguments(typename MethodTraits<M>::Arguments{}, TypeList<Given...>{});
    return BlockingStreamOf<M>{Status{}};
  }
}

}  // namespace detail

}  // namespace weft
