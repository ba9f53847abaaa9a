// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <asio/any_io_executor.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/error.hpp>
#include <asio/error_code.hpp>
#include <asio/post.hpp>
#include <atomic>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "weft/detail/adapters/asio_pending.hpp"
#include "weft/detail/adapters/asio_post.hpp"
#include "weft/detail/base/assert.hpp"
#include "weft/detail/base/result.hpp"
#include "weft/detail/coro/cancel.hpp"
#include "weft/detail/coro/executor.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/runtime/mailbox.hpp"

namespace weft::detail {

/// Gives the failure that an error of asio is.
inline Status status_of(const asio::error_code& error) {
  if (!error) return {};
  const StatusCode code = error == asio::error::operation_aborted ? StatusCode::kCancelled
                          : error == asio::error::eof             ? StatusCode::kOutOfRange
                                                                  : StatusCode::kUnavailable;
  return Status{code, Layer::kUser, "asio: " + error.message(), error.value()};
}

/// Value of an operation: nothing, one, or several.
template <typename... Values>
struct AsioValue {
  using Type = std::tuple<Values...>;
};
template <>
struct AsioValue<> {
  using Type = void;
};
template <typename Value>
struct AsioValue<Value> {
  using Type = Value;
};

/// The outcome of an operation whose handler gets `Args`.
template <typename... Args>
struct AsioOutcome {
  using Value = typename AsioValue<std::decay_t<Args>...>::Type;
  static Result<Value> of(std::tuple<std::decay_t<Args>...>&& given) {
    if constexpr (sizeof...(Args) == 0) {
      return {};
    } else if constexpr (sizeof...(Args) == 1) {
      return std::get<0>(std::move(given));
    } else {
      return std::move(given);
    }
  }
};
template <typename... Args>
struct AsioOutcome<asio::error_code, Args...> {
  using Value = typename AsioOutcome<Args...>::Value;
  static Result<Value> of(std::tuple<asio::error_code, std::decay_t<Args>...>&& given) {
    if (std::get<0>(given)) return status_of(std::get<0>(given));
    return std::apply(
        [](auto&, auto&... values) {
          return AsioOutcome<Args...>::of(std::tuple<std::decay_t<Args>...>{std::move(values)...});
        },
        given);
  }
};
template <typename... Args>
struct AsioOutcome<std::exception_ptr, Args...> {
  using Value = typename AsioOutcome<Args...>::Value;
  static Result<Value> of(std::tuple<std::exception_ptr, std::decay_t<Args>...>&& given) {
    if (std::get<0>(given) != nullptr) std::rethrow_exception(std::get<0>(given));
    return std::apply(
        [](auto&, auto&... values) {
          return AsioOutcome<Args...>::of(std::tuple<std::decay_t<Args>...>{std::move(values)...});
        },
        given);
  }
};

/// An operation of asio for which a coroutine of a loop waits; shared by the two threads. The operation's
/// executor starts and cancels it; the mailbox reports its end to the loop, and keeps this object alive
/// meanwhile. The executor is released with the operation, because its context may end then, which a strand
/// must not outlive.
template <typename... Args>
class AsioWaiting final : public std::enable_shared_from_this<AsioWaiting<Args...>>, Posted {
 public:
  using Given = std::tuple<std::decay_t<Args>...>;

  AsioWaiting(std::shared_ptr<Mailbox> mailbox, asio::any_io_executor executor)
      : mailbox_(std::move(mailbox)), executor_(std::move(executor)), pending_(pending_of(executor_)) {}

  /// Has the operation's executor call `begin`, or destroys that when the context ends.
  template <typename Begin>
  void begin(Begin begin) {
    const Telling telling{*this};
    if (telling.executor) asio::post(*telling.executor, std::move(begin));
  }
  /// Asks the operation to end, if it has not and its context does not.
  void cancel() noexcept {
    const Telling telling{*this};
    if (!telling.executor) return;
    post_surely(*telling.executor, [self = this->shared_from_this()] {
      if (!self->has_ended()) self->signal_.emit(asio::cancellation_type::terminal);
    });
  }

  /// Thread: the operation's.
  asio::cancellation_slot slot() noexcept { return signal_.slot(); }
  const asio::any_io_executor& executor() const noexcept { return executor_; }

  /// The operation gave `given`, or was dropped. Thread: any, once.
  void end(std::optional<Given> given) noexcept {
    given_ = std::move(given);
    self_ = this->shared_from_this();
    {
      const std::lock_guard lock(mutex_);
      ended_.store(true, std::memory_order_release);
      executor_ = {};
    }
    mailbox_->post(*this);
  }

  /// Thread: the loop's, as all of these.
  void await(Loop& loop, Resumption& waiter) noexcept {
    loop_ = &loop;
    waiter_ = &waiter;
  }
  void forget_waiter() noexcept { waiter_ = nullptr; }
  std::optional<Given>& given() noexcept { return given_; }

 private:
  /// The executor, while a function is posted to it; none if the operation or its context has ended. A
  /// context that ends drops the operation, which waits for the lock, so the context exists while the
  /// operation has not ended.
  struct Telling {
    explicit Telling(AsioWaiting& its) noexcept : waiting(its) {
      const std::lock_guard lock(waiting.mutex_);
      if (!waiting.has_ended() && waiting.pending_.begin_telling()) executor = waiting.executor_;
    }
    Telling(const Telling&) = delete;
    Telling& operator=(const Telling&) = delete;
    ~Telling() {
      if (!executor) return;
      executor.reset();
      waiting.pending_.end_telling();
    }
    AsioWaiting& waiting;
    std::optional<asio::any_io_executor> executor;
  };

  bool has_ended() const noexcept { return ended_.load(std::memory_order_acquire); }
  void run() override {
    const auto self = std::move(self_);
    if (waiter_ != nullptr) loop_->schedule(*std::exchange(waiter_, nullptr));
  }
  void drop() noexcept override { const auto self = std::move(self_); }

  const std::shared_ptr<Mailbox> mailbox_;
  std::mutex mutex_;
  /// None once it has ended, which is under the lock.
  asio::any_io_executor executor_;
  AsioPending& pending_;
  asio::cancellation_signal signal_;
  std::optional<Given> given_;
  std::atomic<bool> ended_ = false;
  std::shared_ptr<AsioWaiting> self_;
  Loop* loop_ = nullptr;
  Resumption* waiter_ = nullptr;
};

/// Handler of the operation. The waiter is also resumed when asio drops the handler because its context ends.
template <typename... Args>
class AsioHandler {
 public:
  using executor_type = asio::any_io_executor;
  using cancellation_slot_type = asio::cancellation_slot;

  explicit AsioHandler(std::shared_ptr<AsioWaiting<Args...>> waiting) noexcept
      : waiting_(std::move(waiting)) {}
  AsioHandler(AsioHandler&&) noexcept = default;
  AsioHandler& operator=(AsioHandler&&) = delete;
  ~AsioHandler() {
    if (waiting_ != nullptr) waiting_->end(std::nullopt);
  }

  void operator()(Args... args) {
    std::exchange(waiting_, nullptr)->end(std::tuple<std::decay_t<Args>...>{std::move(args)...});
  }
  executor_type get_executor() const noexcept { return waiting_->executor(); }
  cancellation_slot_type get_cancellation_slot() const noexcept { return waiting_->slot(); }

 private:
  std::shared_ptr<AsioWaiting<Args...>> waiting_;
};

/// Awaits an operation of asio, once, within a turn of a loop. `Begin` begins it with a handler.
template <typename Begin, typename... Args>
class [[nodiscard("the operation begins when it is awaited")]] AsioWait final : CancelListener {
 public:
  using Outcome = AsioOutcome<std::decay_t<Args>...>;

  AsioWait(asio::any_io_executor executor, Begin begin) noexcept
      : executor_(std::move(executor)), begin_(std::move(begin)) {}
  /// Moves only before it is awaited.
  AsioWait(AsioWait&& other) noexcept
      : executor_(std::move(other.executor_)), begin_(std::move(other.begin_)) {}
  AsioWait& operator=(AsioWait&&) = delete;
  ~AsioWait() {
    if (waiting_ == nullptr || is_over_) return;
    waiting_->forget_waiter();
    waiting_->cancel();
  }

  bool await_ready() const noexcept { return false; }
  template <typename Promise>
  bool await_suspend(std::coroutine_handle<Promise> coroutine) {
    resumption_.handle = coroutine;
    return begin(cancel_scope_of(coroutine)) || gives_way(resumption_, coroutine);
  }
  Result<typename Outcome::Value> await_resume() {
    is_over_ = true;
    if (!failure_.ok()) return std::move(failure_);
    auto& given = waiting_->given();
    if (!given) {
      return Status{StatusCode::kCancelled, Layer::kUser,
                    "asio dropped the operation: its context has ended, or it could not be begun"};
    }
    return Outcome::of(std::move(*given));
  }

 private:
  bool begin(CancelScope* scope) {
    Loop* const loop = Loop::current();
    WEFT_ASSERT(loop != nullptr, "an operation of asio is awaited by a coroutine of a Loop, inside a turn");
    if (scope != nullptr && scope->cancelled()) {
      failure_ = to_status(scope->reason());
      return false;
    }
    waiting_ = std::make_shared<AsioWaiting<Args...>>(loop->mailbox(), std::move(executor_));
    waiting_->await(*loop, resumption_);
    waiting_->begin([begin = std::move(begin_), handler = AsioHandler<Args...>{waiting_}]() mutable {
      begin(std::move(handler));
    });
    if (scope != nullptr) scope->add(*this);
    return true;
  }
  void on_cancel(CancelReason) noexcept override { waiting_->cancel(); }

  asio::any_io_executor executor_;
  Begin begin_;
  std::shared_ptr<AsioWaiting<Args...>> waiting_;
  Status failure_;
  Resumption resumption_;
  bool is_over_ = false;
};

}  // namespace weft::detail
