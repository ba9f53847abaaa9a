// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <asio/execution/context.hpp>
#include <asio/execution_context.hpp>
#include <asio/query.hpp>
#include <condition_variable>
#include <cstddef>
#include <mutex>

#include "weft/detail/base/intrusive_list.hpp"

namespace weft::detail {

struct AsioPendingTag;

/// Work of Weft for which a handler of asio waits.
class AsioWaiter : public ListHook<AsioPendingTag> {
 public:
  /// Destroys the handler, which is not called any more: its context ends. Thread: the one that ends it.
  virtual void abandon() noexcept = 0;

 protected:
  ~AsioWaiter() = default;
};

/// The waiters of one execution context of asio, as a service of it. When the context ends, asio destroys all
/// handlers, and this service drops its waiters: otherwise a loop of Weft would notify a destroyed context.
class AsioPending final : public asio::execution_context::service {
 public:
  inline static asio::execution_context::id id;

  explicit AsioPending(asio::execution_context& context) : service(context) {}

  /// Thread: any, like all of these.
  void enter(AsioWaiter& waiter) {
    const std::lock_guard lock(mutex_);
    waiters_.push_back(waiter);
  }
  /// Must be called before the context is notified; the context stays valid until end_telling(). Returns
  /// false when the context is ending: the waiter must not be used any more. Sets `is_over` in either case.
  bool begin_telling(bool& is_over) noexcept {
    const std::lock_guard lock(mutex_);
    is_over = true;
    if (!closed_) ++telling_;
    changed_.notify_all();
    return !closed_;
  }
  /// The same for work that is no waiter.
  bool begin_telling() noexcept {
    const std::lock_guard lock(mutex_);
    if (!closed_) ++telling_;
    return !closed_;
  }
  void end_telling() noexcept {
    const std::lock_guard lock(mutex_);
    --telling_;
    changed_.notify_all();
  }
  /// begin_telling() was called for a waiter.
  bool is_over(const bool& is_over) noexcept {
    const std::lock_guard lock(mutex_);
    return is_over;
  }
  /// Waits until begin_telling() was called for a waiter.
  void await_over(const bool& is_over) noexcept {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&is_over] { return is_over; });
  }
  void leave(AsioWaiter& waiter) noexcept {
    const std::lock_guard lock(mutex_);
    waiter.unlink();
  }

 private:
  void shutdown() noexcept override {
    while (AsioWaiter* waiter = next()) waiter->abandon();
  }
  AsioWaiter* next() noexcept {
    std::unique_lock lock(mutex_);
    closed_ = true;
    changed_.wait(lock, [this] { return telling_ == 0; });
    return waiters_.empty() ? nullptr : &waiters_.pop_front();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  IntrusiveList<AsioWaiter, AsioPendingTag> waiters_;
  std::size_t telling_ = 0;
  bool closed_ = false;
};

/// The waiters of the context of `executor`. Throws std::bad_alloc.
template <typename Executor>
AsioPending& pending_of(const Executor& executor) {
  if constexpr (asio::can_query<const Executor&, asio::execution::context_t>::value) {
    return asio::use_service<AsioPending>(asio::query(executor, asio::execution::context));
  } else {
    return asio::use_service<AsioPending>(executor.context());
  }
}

}  // namespace weft::detail
