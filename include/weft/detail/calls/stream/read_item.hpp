// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>

#include "weft/detail/base/status.hpp"
#include "weft/detail/calls/stream/item_access.hpp"
#include "weft/detail/calls/stream/stream_side.hpp"
#include "weft/detail/coro/awaited_first.hpp"
#include "weft/detail/coro/cancel.hpp"
#include "weft/detail/coro/executor.hpp"

namespace weft::detail {

/// Awaited for the next item of a stream. Gives an empty Format::Value at the end, and when the stream is
/// destroyed meanwhile. A cancelled wait ends the stream.
///
/// A Format says what items are: read() makes a Value of an item's bytes, and of `Memory` which outlives the
/// await and which clear() readies for the next one; an empty Value, and why, when they are no item.
template <typename Format, typename Access>
class [[nodiscard("an item is read when it is awaited")]] ReadItem final
    : CancelListener,
      public AwaitedBefore<typename Format::Value> {
 public:
  ReadItem(Access access, typename Format::Memory& memory) noexcept : access_(access), memory_(memory) {}
  ~ReadItem() {
    if (!suspended_ || wait_.has_lost_stream()) return;
    access_.end_wait(wait_);
    if (access_.side().reader() == &resumption_) access_.side().set_reader(nullptr);
  }
  ReadItem(const ReadItem&) = delete;
  ReadItem& operator=(const ReadItem&) = delete;

  bool await_ready() noexcept {
    StreamSide& side = access_.side();
    Format::clear(memory_);
    side.take_item();
    if (!side.incoming().has_item() && !side.incoming().have_ended()) return false;
    if (may_go_on()) [[likely]] {
      return true;
    }
    is_there_ = true;
    return false;
  }
  template <typename Promise>
  bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
    resumption_.handle = coroutine;
    if (is_there_) {  // gives way
      Executor::current()->schedule(resumption_);
    } else if (!listen_to_scope(coroutine, *this, access_)) {
      if (!gives_way(resumption_)) return false;
    } else {
      WEFT_ASSERT(access_.side().reader() == nullptr, "one coroutine at a time reads a stream");
      access_.side().set_reader(&resumption_);
    }
    suspended_ = true;
    access_.begin_wait(wait_, resumption_);
    return true;
  }
  [[gnu::always_inline]] typename Format::Value await_resume() noexcept {
    stop_listening();
    if (suspended_ && !end_wait()) return {};
    StreamSide& side = access_.side();
    if (!side.incoming().has_item()) {
      // The peer would wait for credit without end; abandoning cancels the call there.
      if (const Status lost = side.loss(); !lost.ok()) [[unlikely]] {
        access_.abandon(lost);
      }
      return {};
    }
    Status failure;
    typename Format::Value item = Format::read(side.incoming().show(), memory_, failure);
    if (!item) [[unlikely]] {
      static_cast<void>(side.incoming().take());  // its attachment is not shown
      access_.abandon(failure);
    }
    return item;
  }

 private:
  /// Returns false when the stream was destroyed meanwhile.
  [[gnu::noinline]] bool end_wait() noexcept {
    suspended_ = false;
    if (wait_.has_lost_stream()) return false;
    access_.end_wait(wait_);
    return true;
  }
  void on_cancel(CancelReason reason) noexcept override {
    if (!wait_.has_lost_stream()) access_.cancel(reason);
  }

  Access access_;
  typename Format::Memory& memory_;
  Resumption resumption_;
  [[no_unique_address]] typename Access::Wait wait_;
  bool suspended_ = false;
  /// An item, or the end of the stream, has arrived.
  bool is_there_ = false;
};

}  // namespace weft::detail
