// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <memory>
#include <utility>

#include "weft/detail/calls/threads/call_errand.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/runtime/thread_signal.hpp"

namespace weft::detail {

/// A call from a coroutine on another loop, its home. The record returns through that loop's mailbox, to
/// which it holds a reference because the loop may have ended by then.
class ReturningCall final : public CallErrand {
 public:
  explicit ReturningCall(Request request) noexcept : CallErrand(std::move(request)) {}

  /// send() from a turn of `home`. Schedules `waiter` there when the record has returned, unless
  /// forget_waiter() was called. Thread: home's, as for the whole class.
  void send_from(Loop& home, Ready& waiter) noexcept;
  void forget_waiter() noexcept { waiter_ = nullptr; }
  /// Cancels the call after its waiter is gone; blocks while the call uses memory of the caller's.
  void abandon() noexcept;
  bool is_back() const noexcept { return is_back_; }

 private:
  class Return final : public Posted {
   public:
    explicit Return(ReturningCall& call) noexcept : call_(call) {}
    void run() override;
    void drop() noexcept override { call_.release(); }

   private:
    ReturningCall& call_;
  };

  void tell() noexcept override;

  Return return_{*this};
  std::shared_ptr<Mailbox> home_mailbox_;
  Loop* home_ = nullptr;
  Ready* waiter_ = nullptr;
  bool is_back_ = false;
  ThreadSignal told_;
};

/// The type-independent part of an awaited ReturningCall. Cancel: at once, and the call is cancelled on its
/// loop; if the call uses memory of the caller's, the coroutine waits until it is returned.
class [[nodiscard]] ReturningAwaiter : private CancelListener {
 public:
  /// `call` is null when it could not be made, because of `failure`.
  ReturningAwaiter(std::unique_ptr<ReturningCall, CallErrand::Release> call, Status failure) noexcept
      : call_(std::move(call)), failure_(std::move(failure)) {}
  /// May only be moved before it is awaited.
  ReturningAwaiter(ReturningAwaiter&& other) noexcept
      : call_(std::move(other.call_)), failure_(std::move(other.failure_)) {
    WEFT_ASSERT(home_ == nullptr && other.home_ == nullptr, "what is being awaited does not move");
  }
  ReturningAwaiter& operator=(ReturningAwaiter&&) = delete;
  ~ReturningAwaiter() {
    if (home_ != nullptr && !call_->is_back()) let_go();
  }

  bool await_ready() const noexcept { return false; }
  template <typename Promise>
  bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
    resumption_.handle = coroutine;
    return (call_ != nullptr && begin(cancel_scope_of(coroutine))) || gives_way(resumption_, coroutine);
  }

 protected:
  ReturningCall* call() noexcept { return call_.get(); }
  /// The failure, after the coroutine was resumed.
  Status take_failure() noexcept;

 private:
  bool begin(CancelScope* scope) noexcept;
  void let_go() noexcept;
  void on_cancel(CancelReason reason) noexcept override;

  std::unique_ptr<ReturningCall, CallErrand::Release> call_;
  Status failure_;
  Loop* home_ = nullptr;
  Resumption resumption_;
};

}  // namespace weft::detail
