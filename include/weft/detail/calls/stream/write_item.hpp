// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <type_traits>
#include <utility>

#include "weft/detail/calls/stream/item_access.hpp"
#include "weft/detail/calls/stream/stream_side.hpp"
#include "weft/detail/calls/terms/attachment.hpp"
#include "weft/detail/coro/awaited_first.hpp"
#include "weft/detail/coro/cancel.hpp"
#include "weft/detail/coro/executor.hpp"

namespace weft::detail {

/// Sends `item`: Format::write() writes the number of bytes that Format::bytes() returned. Returns false when
/// it cannot be sent, and writing is over then. Passes on their exceptions. Only while `side` is kReady. With
/// `attachment`, which must not be empty, StreamSide::send_attachment() must follow.
template <typename Format>
bool send_item(StreamSide& side, const typename Format::Item& item, const Attachment* attachment = nullptr) {
  if constexpr (requires { requires Format::kRunsHooks; }) {
    typename Format::Ahead ahead;
    ahead.encode(item);
    // The hooks may have ended the stream.
    if (side.writing() == StreamSide::Writing::kOver) return false;
    std::byte* const body = side.begin_item(ahead.size(), attachment);
    if (body == nullptr) return false;
    ahead.copy_to(body);
    side.end_item();
    return true;
  }
  const std::size_t bytes = Format::bytes(item);
  std::byte* const body = side.begin_item(bytes, attachment);
  if (body == nullptr) [[unlikely]] {
    return false;
  }
  try {
    Format::write(body, bytes, item);
  } catch (...) {  // a hook of the user's
    side.take_back_item(body, bytes, attachment != nullptr ? attachment->size() : 0);
    throw;
  }
  side.end_item();
  return true;
}
/// Sends `item` with `attachment`, which may be empty. While the side sends_attachment(), that is still on
/// its way to the connection.
template <typename Format>
bool send_attached(StreamSide& side, const typename Format::Item& item, Attachment& attachment) {
  if (!send_item<Format>(side, item, attachment.empty() ? nullptr : &attachment)) return false;
  return attachment.empty() || side.send_attachment(std::move(attachment));
}

/// Attachment of an item that has none.
struct NoAttachment {};

/// Awaited until an item is passed to the connection, and its `Attachment`, if it has one: at once while the
/// reader's window has room, and the attachment is no longer than a piece. Returns false when the stream
/// takes no more items, and when it is destroyed meanwhile. A cancelled wait ends the stream. If the Format
/// has a check(), its failure ends the stream.
template <typename Format, typename Access, typename Attachment = NoAttachment>
class [[nodiscard("an item is written when it is awaited")]] WriteItem final : CancelListener,
                                                                               public AwaitedBefore<bool> {
 public:
  using Item = typename Format::Item;

  /// `item` stays until the await is over.
  WriteItem(Access access, const Item& item, Attachment attachment = {}) noexcept
      : access_(access), item_(item), attachment_(std::move(attachment)), turn_(*this) {}
  ~WriteItem() {
    if (!turn_.coroutine || wait_.has_lost_stream()) return;
    access_.end_wait(wait_);
    if (access_.side().writer() == &turn_) access_.side().set_writer(nullptr);
  }
  WriteItem(const WriteItem&) = delete;
  WriteItem& operator=(const WriteItem&) = delete;

  bool await_ready() {
    if (!try_write()) return false;
    if (may_go_on()) [[likely]] {
      return true;
    }
    is_over_ = true;
    return false;
  }
  template <typename Promise>
  bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
    if (!is_over_ && !listen_to_scope(coroutine, *this, access_)) {
      written_ = false;
      if (may_go_on()) return false;
      is_over_ = true;
    }
    turn_.coroutine = coroutine;
    access_.begin_wait(wait_, turn_);
    if (is_over_) {  // gives way
      Executor::current()->schedule(turn_);
    } else {
      WEFT_ASSERT(access_.side().writer() == nullptr, "one coroutine at a time writes to a stream");
      access_.side().set_writer(&turn_);
    }
    return true;
  }
  bool await_resume() {
    stop_listening();
    if (turn_.coroutine) {
      turn_.coroutine = nullptr;
      if (!wait_.has_lost_stream()) access_.end_wait(wait_);
    }
    if (thrown_ != nullptr) std::rethrow_exception(std::exchange(thrown_, nullptr));
    return written_;
  }

 private:
  /// Runs when the stream may take the item.
  struct Turn : Ready {
    explicit Turn(WriteItem& its_wait) noexcept
        : Ready([](Ready* node) noexcept { static_cast<Turn*>(node)->wait.on_turn(); }), wait(its_wait) {}
    WriteItem& wait;
    std::coroutine_handle<> coroutine;
  };

  /// Writes the item if it can be; false when it has to wait.
  bool try_write() {
    StreamSide& side = access_.side();
    if (kAttached && written_) {
      if (side.sends_attachment()) return false;
      written_ = side.place().is_open();
      return true;
    }
    const StreamSide::Writing writing = side.writing();
    if (writing == StreamSide::Writing::kReady) [[likely]] {
      if constexpr (requires { Format::check(item_); }) {
        if (const Status misuse = Format::check(item_); !misuse.ok()) [[unlikely]] {
          access_.abandon(misuse);
          return true;
        }
      }
      if constexpr (kAttached) {
        written_ = send_attached<Format>(side, item_, attachment_);
      } else {
        written_ = send_item<Format>(side, item_);
      }
      if (!written_) {
        access_.abandon(Status{side.failure()});
        return true;
      }
      return !kAttached || !side.sends_attachment();
    }
    return writing == StreamSide::Writing::kOver;
  }
  void on_turn() noexcept {
    try {
      if (!is_over_) {
        if (wait_.has_lost_stream()) {
          written_ = false;
        } else if (!try_write()) {
          return access_.side().set_writer(&turn_);
        }
      }
    } catch (...) {
      thrown_ = std::current_exception();
    }
    resume(turn_.coroutine);
  }
  void on_cancel(CancelReason reason) noexcept override {
    if (!wait_.has_lost_stream()) access_.cancel(reason);
  }

  static constexpr bool kAttached = !std::is_same_v<Attachment, NoAttachment>;

  Access access_;
  const Item& item_;
  [[no_unique_address]] Attachment attachment_;
  Turn turn_;
  [[no_unique_address]] typename Access::Wait wait_;
  std::exception_ptr thrown_;
  bool written_ = false;
  /// The coroutine gives way, and the outcome is known.
  bool is_over_ = false;
};

}  // namespace weft::detail
