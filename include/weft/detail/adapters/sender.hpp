// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <concepts>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>

#include "weft/detail/adapters/remote.hpp"
#include "weft/detail/base/result.hpp"
#include "weft/detail/calls/terms/call_options.hpp"
#include "weft/detail/functions/call.hpp"
#include "weft/detail/runtime/loop.hpp"

/// Calls as senders, in the shape of std::execution (C++26), which this compiler need not have and no library
/// is needed for.
namespace weft {

namespace detail {
struct GetStopToken {};
}  // namespace detail

/// Query by which a sender of Weft asks the environment of its receiver for a stop token:
/// `receiver.get_env().query(weft::get_stop_token)`. Without a token the call cannot be stopped.
inline constexpr detail::GetStopToken get_stop_token{};

namespace detail {

struct NeverStops {
  bool stop_requested() const noexcept { return false; }
};

template <typename Receiver>
auto stop_token_of(const Receiver& receiver) noexcept {
  if constexpr (requires { receiver.get_env().query(get_stop_token); }) {
    return receiver.get_env().query(get_stop_token);
  } else {
    return NeverStops{};
  }
}

template <typename Token, typename F>
struct StopCallbackOf {
  using Type = typename Token::template callback_type<F>;
};
template <typename F>
struct StopCallbackOf<std::stop_token, F> {
  using Type = std::stop_callback<F>;
};
template <typename F>
struct StopCallbackOf<NeverStops, F> {
  struct Type {
    Type(NeverStops, F) noexcept {}
  };
};

template <typename Given>
using ValueOf = decltype(*std::declval<Given>());

/// The receiver's value function must not throw, because the exception would complete the receiver again.
template <typename Receiver, typename Given>
concept TakesValue = (std::same_as<Given, Result<void>> && requires(Receiver&& receiver) {
                       { std::move(receiver).set_value() } noexcept;
                     }) || requires(Receiver&& receiver, ValueOf<Given>&& value) {
  { std::move(receiver).set_value(std::forward<ValueOf<Given>>(value)) } noexcept;
};

/// One piece of work and its receiver, as returned by connect().
///
/// The receiver is completed after two events, by the later one: start() is about to return, and the loop has
/// reported the end or a stop has given the work up. So no member of this object is used after its receiver
/// was completed.
template <typename Remote, typename Receiver>
class RemoteOperation final : private Told {
 public:
  RemoteOperation(Remote remote, Receiver receiver)
      : remote_(std::move(remote)), receiver_(std::move(receiver)) {}
  RemoteOperation(const RemoteOperation&) = delete;
  RemoteOperation& operator=(const RemoteOperation&) = delete;

  /// Begins the work, once. The receiver may be notified from within this function.
  void start() noexcept {
    const auto token = stop_token_of(receiver_);
    if (token.stop_requested()) return std::move(receiver_).set_stopped();
    if (!remote_.made()) return finish();
    stop_callback_.emplace(token, Stop{this});
    remote_.send(*this);
    arrive();
  }

 private:
  struct Stop {
    void operator()() const noexcept { operation->stop(); }
    RemoteOperation* operation;
  };
  using Token = decltype(stop_token_of(std::declval<const Receiver&>()));
  using StopCallback = typename StopCallbackOf<Token, Stop>::Type;

  void stop() noexcept {
    stop_wanted_.store(true, std::memory_order_relaxed);
    if (!remote_.give_up(CancelReason::kRequested)) return;
    given_up_ = true;
    arrive();
  }
  void told() noexcept override { arrive(); }
  void arrive() noexcept {
    if (awaited_.fetch_sub(1, std::memory_order_acq_rel) == 1) finish();
  }
  void finish() noexcept {
    // Waits for a stop that another thread is just processing.
    stop_callback_.reset();
    if (given_up_) return std::move(receiver_).set_stopped();
    if constexpr (Remote::kMayThrow) {
      // The receiver is completed outside the try block: an exception from it would complete it again.
      std::optional<typename Remote::Given> given;
      try {
        given.emplace(remote_.take());
      } catch (...) {
        return std::move(receiver_).set_error(std::current_exception());
      }
      deliver(*std::move(given));
    } else {
      deliver(remote_.take());
    }
  }
  void deliver(typename Remote::Given given) noexcept {
    if (given.ok()) {
      if constexpr (std::is_same_v<typename Remote::Given, Result<void>>) {
        std::move(receiver_).set_value();
      } else {
        std::move(receiver_).set_value(*std::move(given));
      }
    } else if (stop_wanted_.load(std::memory_order_relaxed) &&
               given.status().code() == StatusCode::kCancelled) {
      std::move(receiver_).set_stopped();
    } else {
      std::move(receiver_).set_error(std::move(given).status());
    }
  }

  Remote remote_;
  Receiver receiver_;
  std::optional<StopCallback> stop_callback_;
  std::atomic<int> awaited_{2};
  std::atomic<bool> stop_wanted_{false};
  bool given_up_ = false;
};

/// A call, or a coroutine of a loop, as a sender:
///
///     auto operation = weft::as_sender(client).call<f>(x).connect(receiver);
///     operation.start();
///
/// Exactly one of these is called on the receiver:
///
/// - `set_value(R)`, or `set_value()` for work without a result;
/// - `set_error(weft::Status)`; for run() also `set_error(std::exception_ptr)`;
/// - `set_stopped()`, when the receiver's stop token requested it. A sent request may have run. It is called
/// at once, on the thread that stops, unless the options of the call name memory: then when that memory is
/// returned.
///
/// The operation stays in place from start() until then; the receiver may destroy it. Thread: start(), any;
/// the receiver is completed on the loop's thread, inside a turn, which it must not block, or from within
/// start(), or on the thread that stops. Nothing is sent before start(), and the loop or the client may have
/// ended by then.
template <typename Remote>
class [[nodiscard("a sender does nothing until it is connected and started")]] RemoteSender {
 public:
  using Given = typename Remote::Given;

  explicit RemoteSender(Remote remote) noexcept : remote_(std::move(remote)) {}

  /// Owns `receiver`, which has the functions named above.
  template <typename Receiver>
    requires TakesValue<std::decay_t<Receiver>, Given>
  RemoteOperation<Remote, std::decay_t<Receiver>> connect(Receiver&& receiver) && {
    return {std::move(remote_), std::forward<Receiver>(receiver)};
  }

 private:
  Remote remote_;
};

}  // namespace detail

/// The way to a client for senders: `weft::as_sender(client)` gives it.
using SenderCaller = detail::RemoteCaller<detail::RemoteSender>;
/// The way to a loop for senders: `weft::as_sender(loop)` gives it. A stop cancels the coroutine.
using SenderRunner = detail::RemoteRunner<detail::RemoteSender>;

/// Calls functions of a client whose loop another thread runs, as senders. `client` is anything that calls
/// functions, such as a Client or a ConnectionPool, which must exist while this is called. Thread: any.
template <typename Client>
SenderCaller as_sender(Client& client) {
  return SenderCaller{detail::door_of(client)};
}
/// Runs coroutines on `loop`, as senders. Thread: any, while the loop exists.
inline SenderRunner as_sender(Loop& loop) {
  return SenderRunner{loop.mailbox()};
}

}  // namespace weft
