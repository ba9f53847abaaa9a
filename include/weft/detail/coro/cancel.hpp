// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <cstdint>
#include <string_view>

#include "weft/detail/base/assert.hpp"
#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/base/time.hpp"

namespace weft {

/// Reason for which something is asked to end.
enum class CancelReason : std::uint8_t {
  kNone,           ///< it is not
  kRequested,      ///< cancel() was called, or a race was lost
  kDeadline,       ///< its deadline passed
  kScopeClosed,    ///< the scope that owns it is being closed
  kPeerCancelled,  ///< the caller on the other side cancelled it
  kPeerGone,       ///< the other side is gone
  kStopping,       ///< the server or client stops
};

std::string_view to_string(CancelReason reason);
/// kDeadlineExceeded for kDeadline, kCancelled for the others; the message says which. kNone has no status.
Status to_status(CancelReason reason);

namespace detail {

struct CancelListenerTag;
struct CancelChildTag;

}  // namespace detail

/// Receives the cancellation of a CancelScope once. Belongs to one CancelScope; leaves it when destroyed.
class CancelListener : public detail::ListHook<detail::CancelListenerTag> {
 public:
  /// Called at most once, after the listener left its scope. May destroy other listeners, but must neither
  /// resume a coroutine nor destroy the scope: it notes the fact and schedules.
  virtual void on_cancel(CancelReason reason) noexcept = 0;

  bool is_listening() const noexcept { return linked(); }
  void stop_listening() noexcept { unlink(); }

 protected:
  ~CancelListener() = default;
};

/// A node in the tree of things that end together: cancelling it cancels all below it, for good.
/// Carries a deadline, which the runtime arms a timer for; nothing here looks at a clock.
/// Thread: its loop's. Allocates nothing. A scope outlives its children.
class CancelScope : private detail::ListHook<detail::CancelChildTag> {
 public:
  CancelScope() = default;
  /// A child of `parent`, cancelled already if that is; a root when `parent` is null.
  explicit CancelScope(CancelScope* parent);
  ~CancelScope();

  /// Asks everything below to end. The first reason stays; further cancels do nothing.
  void cancel(CancelReason reason) noexcept;
  bool cancelled() const noexcept { return reason_ != CancelReason::kNone; }
  CancelReason reason() const noexcept { return reason_; }

  /// The earlier of its own and its parents'.
  Deadline deadline() const noexcept {
    Deadline earliest = deadline_;
    for (const CancelScope* scope = parent_; scope != nullptr; scope = scope->parent_) {
      earliest = earliest.earlier(scope->deadline_);
    }
    return earliest;
  }
  void set_deadline(Deadline deadline) noexcept { deadline_ = deadline; }

  /// Bytes that calls below this scope carry to their servers, inherited from its parent or its own; only the
  /// layer that sets and reads them knows their meaning. They outlive the scope. They are set before it has
  /// children.
  Bytes carried() const noexcept { return carried_; }
  void set_carried(Bytes bytes) noexcept { carried_ = bytes; }

  /// Notifies `listener` of a cancel. The scope must not be cancelled yet: check cancelled() first.
  void add(CancelListener& listener) noexcept {
    WEFT_ASSERT(!cancelled(), "ask cancelled() before listening");
    listeners_.push_back(listener);
  }

 private:
  friend class detail::IntrusiveList<CancelScope, detail::CancelChildTag>;

  CancelScope* parent_ = nullptr;
  Deadline deadline_;
  detail::IntrusiveList<CancelListener, detail::CancelListenerTag> listeners_;
  detail::IntrusiveList<CancelScope, detail::CancelChildTag> children_;
  Bytes carried_;
  CancelReason reason_ = CancelReason::kNone;
};

namespace detail {

/// A promise that knows the scope its coroutine runs under.
template <typename Promise>
concept CarriesCancelScope = requires(Promise& promise) {
  { promise.cancel_scope } -> std::convertible_to<CancelScope*>;
};

/// The scope a coroutine runs under; null when it runs under none or its promise does not know.
template <typename Promise>
CancelScope* cancel_scope_of(std::coroutine_handle<Promise> coroutine) noexcept {
  if constexpr (CarriesCancelScope<Promise>) {
    return coroutine.promise().cancel_scope;
  } else {
    return nullptr;
  }
}

/// Awaited by `co_await this_cancel_scope()`.
class [[nodiscard]] ThisCancelScope {
 public:
  bool await_ready() const noexcept { return false; }
  template <typename Promise>
  bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
    scope_ = cancel_scope_of(coroutine);
    return false;
  }
  CancelScope* await_resume() const noexcept { return scope_; }

 private:
  CancelScope* scope_ = nullptr;
};

}  // namespace detail

/// Gives the scope that the awaiting coroutine runs under, null if there is none. Never suspends.
inline detail::ThisCancelScope this_cancel_scope() noexcept {
  return detail::ThisCancelScope{};
}

}  // namespace weft
