// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <exception>
#include <new>
#include <optional>

#include "weft/base/status.hpp"
#include "weft/coro/cancel.hpp"
#include "weft/detail/calls/stream_side.hpp"
#include "weft/detail/codec/codec.hpp"
#include "weft/detail/coro/executor.hpp"

namespace weft::detail {

/// Reads `body` as an item. Without one, `failure` says why.
template <typename T>
std::optional<T> decode_item(Bytes body, DecodeArena& arena, Status& failure) noexcept {
  std::optional<T> item;
  try {
    Result<void> decoded = decode_from(body, arena, item.emplace());
    if (decoded.ok()) [[likely]] {
      return item;
    }
    failure = std::move(decoded).status().with_context("an item of a stream");
  } catch (const std::bad_alloc&) {
    failure = {StatusCode::kResourceExhausted, Layer::kCodec, "out of memory for an item of a stream"};
  } catch (const std::exception& exception) {  // a hook of the user's
    failure = {StatusCode::kInvalidArgument, Layer::kCodec, exception.what()};
  } catch (...) {
    failure = {StatusCode::kInvalidArgument, Layer::kCodec, "decoding an item threw something unknown"};
  }
  item.reset();
  return item;
}

/// Awaited for the next item of a stream. Gives none at the end. A cancelled wait ends the stream.
template <typename T, typename Access>
class [[nodiscard("an item is read when it is awaited")]] ReadItem final : CancelListener {
 public:
  /// `arena` keeps what the item's views show beside its bytes; it outlives the await.
  ReadItem(Access access, DecodeArena& arena) noexcept : access_(access), arena_(arena) {}
  ~ReadItem() {
    if (suspended_ && access_.side().reader() == &resumption_) access_.side().set_reader(nullptr);
  }
  ReadItem(const ReadItem&) = delete;
  ReadItem& operator=(const ReadItem&) = delete;

  bool await_ready() noexcept {
    StreamSide& side = access_.side();
    arena_.clear();
    side.take_item();
    return side.has_item() || side.reading_has_ended();
  }
  template <typename Promise>
  bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
    if (CancelScope* const scope = cancel_scope_of(coroutine)) {
      if (scope->cancelled()) {
        access_.cancel(scope->reason());
        return false;
      }
      scope->add(*this);
    }
    WEFT_ASSERT(access_.side().reader() == nullptr, "one coroutine at a time reads a stream");
    suspended_ = true;
    resumption_.handle = coroutine;
    access_.side().set_reader(&resumption_);
    return true;
  }
  std::optional<T> await_resume() noexcept {
    stop_listening();
    suspended_ = false;
    StreamSide& side = access_.side();
    if (!side.has_item()) return std::nullopt;
    Status failure;
    std::optional<T> item = decode_item<T>(side.show_item(), arena_, failure);
    if (!item.has_value()) [[unlikely]] {
      access_.abandon(failure);
    }
    return item;
  }

 private:
  void on_cancel(CancelReason reason) noexcept override { access_.cancel(reason); }

  Access access_;
  DecodeArena& arena_;
  Resumption resumption_;
  bool suspended_ = false;
};

}  // namespace weft::detail
