// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <cstdint>
#include <exception>
#include <type_traits>
#include <utility>

#include "weft/detail/base/status.hpp"
#include "weft/detail/calls/stream/stream_side.hpp"
#include "weft/detail/calls/stream/write_item.hpp"
#include "weft/detail/coro/task.hpp"
#include "weft/detail/functions/codec_items.hpp"
#include "weft/detail/functions/named_first.hpp"

namespace weft {

template <typename T>
class Stream;

namespace detail {

/// An item and its attachment, for `co_yield`: with_attachment() makes it.
template <typename T>
struct ItemWithAttachment {
  T item;
  Attachment attachment;
};

}  // namespace detail

/// Gives `item` an attachment, which is given away: `co_yield weft::with_attachment(item, std::move(pages))`.
template <typename T>
detail::ItemWithAttachment<std::decay_t<T>> with_attachment(T&& item, Attachment attachment) {
  return {std::forward<T>(item), std::move(attachment)};
}

namespace detail {

template <typename T>
class StreamPromise;
template <typename T>
class StreamRun;

/// Awaited by `co_yield item`: continues when the item and its attachment are on their way. When the stream
/// takes no more items the coroutine does not continue; StreamRun drops it.
template <typename T>
class [[nodiscard]] YieldItem final : Ready {
 public:
  /// Both outlive the await; `attachment` is taken, and null when there is none.
  YieldItem(StreamPromise<T>& promise, const T& item, Attachment* attachment = nullptr) noexcept
      : Ready([](Ready* node) noexcept { static_cast<YieldItem*>(node)->on_turn(); }),
        promise_(promise),
        item_(item),
        attachment_(attachment) {}
  ~YieldItem() {
    if (waits_ && promise_.side->writer() == this) promise_.side->set_writer(nullptr);
  }
  YieldItem(const YieldItem&) = delete;
  YieldItem& operator=(const YieldItem&) = delete;

  bool await_ready() { return try_send() == Step::kSent && may_go_on(); }
  void await_suspend(std::coroutine_handle<>) noexcept {
    if (step_ == Step::kOver) return promise_.end_early();
    if (step_ == Step::kSent) return Executor::current()->schedule(*this);
    wait();
  }
  void await_resume() {
    waits_ = false;
    if (thrown_ != nullptr) std::rethrow_exception(std::exchange(thrown_, nullptr));
  }

 private:
  enum class Step : std::uint8_t {
    kSent,
    kWait,
    kAttach,  ///< the item was sent, and its attachment is leaving
    kOver,
  };

  Step try_send() {
    if (attachment_ != nullptr) [[unlikely]] {
      return step_ = try_send_attached();
    }
    const StreamSide::Writing writing = promise_.side->writing();
    if (writing == StreamSide::Writing::kReady) [[likely]] {
      step_ = send_item<CodecItems<T>>(*promise_.side, item_) ? Step::kSent : Step::kOver;
    } else {
      step_ = writing == StreamSide::Writing::kWait ? Step::kWait : Step::kOver;
    }
    return step_;
  }
  // Out of line, so that items without attachment are sent inline.
  [[gnu::noinline]] Step try_send_attached() {
    StreamSide& side = *promise_.side;
    if (step_ == Step::kAttach) {
      if (side.sends_attachment()) return Step::kAttach;
      return side.place().is_open() ? Step::kSent : Step::kOver;
    }
    const StreamSide::Writing writing = side.writing();
    if (writing == StreamSide::Writing::kWait) return Step::kWait;
    const bool sent =
        writing == StreamSide::Writing::kReady && send_attached<CodecItems<T>>(side, item_, *attachment_);
    if (!sent) return Step::kOver;
    return side.sends_attachment() ? Step::kAttach : Step::kSent;
  }
  void wait() noexcept {
    waits_ = true;
    promise_.side->set_writer(this);
  }
  void on_turn() noexcept {
    try {
      if (step_ != Step::kSent) try_send();
    } catch (...) {
      thrown_ = std::current_exception();
      step_ = Step::kSent;
    }
    if (step_ == Step::kWait || step_ == Step::kAttach) return wait();
    if (step_ == Step::kSent) return resume(std::coroutine_handle<StreamPromise<T>>::from_promise(promise_));
    promise_.over = true;
    resume(promise_.continuation);
  }

  StreamPromise<T>& promise_;
  const T& item_;
  Attachment* attachment_;
  std::exception_ptr thrown_;
  Step step_ = Step::kWait;
  bool waits_ = false;
};

template <typename T>
class StreamPromise final : public TaskPromiseBase {
 public:
  Stream<T> get_return_object() noexcept;
  void return_void() const noexcept {}
  YieldItem<T> yield_value(const T& item) noexcept { return YieldItem<T>{*this, item}; }
  /// Refuses an item that g++ 12 would destroy twice.
  YieldItem<T> yield_value(T&& item) noexcept
    requires dies_twice<T>
  {
    refuse_what_dies_twice<T>();
    return YieldItem<T>{*this, item};
  }
  YieldItem<T> yield_value(ItemWithAttachment<T>&& item) noexcept {
    return YieldItem<T>{*this, item.item, &item.attachment};
  }
  /// Ends the generator early: StreamRun takes over.
  void end_early() noexcept {
    over = true;
    ended();
  }

  StreamSide* side = nullptr;
  bool over = false;
};

}  // namespace detail

/// The items of a handler that is a generator: `co_yield item` sends each, and waits while the caller is
/// behind with reading; it may co_await the same awaitables as a Task.
///
///     weft::Stream<Quote> watch(std::string symbol) {
///       for (;;) co_yield co_await next_quote(symbol);
///     }
///
/// It ends well where the function ends, and with a failure by `throw weft::Status{...}`. When the caller
/// gives up or is gone it does not continue behind its co_yield: its locals are destroyed. Name an item that
/// is an aggregate before you yield it: g++ 12 destroys a braced temporary in such an expression twice. Lazy,
/// movable, run once by the server that serves it. Thread: the loop's.
template <typename T>
class [[nodiscard("a Stream is what a handler returns")]] Stream {
 public:
  using item_type = T;
  using promise_type = detail::StreamPromise<T>;

  Stream(Stream&& other) noexcept : coroutine_(std::exchange(other.coroutine_, nullptr)) {}
  Stream& operator=(Stream&&) = delete;
  ~Stream() {
    if (coroutine_) coroutine_.destroy();
  }

 private:
  friend promise_type;
  template <typename>
  friend class detail::StreamRun;
  explicit Stream(std::coroutine_handle<promise_type> coroutine) noexcept : coroutine_(coroutine) {}

  std::coroutine_handle<promise_type> coroutine_;
};

namespace detail {

template <typename T>
Stream<T> StreamPromise<T>::get_return_object() noexcept {
  return Stream<T>{std::coroutine_handle<StreamPromise>::from_promise(*this)};
}

/// Runs `stream` and sends its items by `side`; awaited by the code that serves the stream. Returns the
/// failure if the stream was ended early; rethrows its exception. Both outlive the await.
template <typename T>
class [[nodiscard]] StreamRun {
 public:
  StreamRun(Stream<T>& stream, StreamSide& side) noexcept : promise_(stream.coroutine_.promise()) {
    promise_.side = &side;
  }

  bool await_ready() const noexcept { return false; }
  template <typename Promise>
  bool await_suspend(std::coroutine_handle<Promise> parent) noexcept {
    promise_.continuation = parent;
    promise_.cancel_scope = cancel_scope_of(parent);
    return start_child(std::coroutine_handle<StreamPromise<T>>::from_promise(promise_), promise_) &&
           !promise_.over;
  }
  Status await_resume() {
    if (promise_.failed()) std::rethrow_exception(std::exchange(promise_.error, nullptr));
    return promise_.over ? promise_.side->failure() : Status{};
  }

 private:
  StreamPromise<T>& promise_;
};

}  // namespace detail

}  // namespace weft
