// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <asio/async_result.hpp>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include "weft/detail/adapters/asio_operation.hpp"
#include "weft/detail/adapters/asio_wait.hpp"
#include "weft/detail/adapters/remote.hpp"
#include "weft/detail/calls/terms/call_options.hpp"
#include "weft/detail/functions/call.hpp"
#include "weft/detail/runtime/loop.hpp"

/// Weft beside asio: asio's coroutines and handlers await calls of Weft, and Weft's coroutines await
/// operations of asio. The two may run on different threads. Needs the library asio without Boost, 1.20 or
/// later, and is included by those who use it only.
namespace weft {

namespace detail {

/// A call, or a coroutine of a loop, that begins when it receives a completion token of asio:
///
///     weft::Result<int> sum = co_await weft::as_asio(client).call<add>(1, 2)(asio::use_awaitable);
///
/// The handler receives the Result on its associated executor. The handler's cancellation slot cancels the
/// call with kCancelled, for every cancellation type; a sent request may still have run. Nothing is sent
/// before the token is given. Thread: any.
template <typename Remote>
class [[nodiscard("nothing is sent before it is given a completion token")]] AsioCall {
 public:
  using Given = typename Remote::Given;

  explicit AsioCall(Remote remote) noexcept : remote_(std::move(remote)) {}

  /// Begins it, once. Returns what the token says.
  template <typename Token>
  auto operator()(Token&& token) && {
    return asio::async_initiate<Token, void(Given)>(
        [](auto handler, Remote remote) {
          AsioOperation<Remote, decltype(handler)>::begin(std::move(handler), std::move(remote));
        },
        token, std::move(remote_));
  }

 private:
  Remote remote_;
};

}  // namespace detail

/// The way to a client for asio: `weft::as_asio(client)` gives it.
using AsioCaller = detail::RemoteCaller<detail::AsioCall>;
/// Access to a loop for asio, made by `weft::as_asio(loop)`. A handler gets the coroutine's Result, or a
/// Result of its value; an exception of the coroutine arrives as the failure that a handler's exception would
/// become.
using AsioRunner = detail::RemoteRunner<detail::AsioCall>;

/// Calls functions of a client whose loop another thread runs. `client` is anything that calls functions,
/// such as a Client or a ConnectionPool, which must exist while this is called. Thread: any.
template <typename Client>
AsioCaller as_asio(Client& client) {
  return AsioCaller{detail::door_of(client)};
}
/// Runs coroutines on `loop`. Thread: any, while the loop exists.
inline AsioRunner as_asio(Loop& loop) {
  return AsioRunner{loop.mailbox()};
}

/// Completion token by which a coroutine of Weft awaits an operation of asio:
///
///     auto waited = co_await timer.async_wait(weft::UseWeft{timer.get_executor()});          // Result<void>
///     auto got = co_await socket.async_read_some(buffer, weft::UseWeft{socket.get_executor()});
///                                                                                      // Result<size_t>
///
/// The operation starts on `executor`, the executor of its I/O object, so that all accesses to the object
/// happen there. The coroutine continues on its loop, with a Result of the handler's arguments: of void, of a
/// value, or of a tuple; an error_code becomes a failure with its number, and kCancelled for
/// operation_aborted. A cancel of the coroutine cancels the operation, and waits for its end. A coroutine
/// that is *dropped* does not wait, because the threads of asio may have ended; the objects of the operation
/// must outlive it then. The executor is kept until the operation ends, and no longer.
class UseWeft {
 public:
  explicit UseWeft(asio::any_io_executor executor) noexcept : executor_(std::move(executor)) {}
  const asio::any_io_executor& executor() const& noexcept { return executor_; }
  asio::any_io_executor executor() && noexcept { return std::move(executor_); }

 private:
  asio::any_io_executor executor_;
};

}  // namespace weft

namespace asio {

/// Makes the operation into something that a coroutine of Weft awaits; it begins when it is awaited.
template <typename... Args>
class async_result<weft::UseWeft, void(Args...)> {
 public:
  template <typename Initiation, typename... Given>
  static auto initiate(Initiation&& initiation, weft::UseWeft token, Given&&... given) {
    auto begin = [initiation = std::forward<Initiation>(initiation),
                  given = std::make_tuple(std::forward<Given>(given)...)](auto handler) mutable {
      std::apply([&](auto&... each) { std::move(initiation)(std::move(handler), std::move(each)...); },
                 given);
    };
    return weft::detail::AsioWait<decltype(begin), Args...>{std::move(token).executor(), std::move(begin)};
  }
};

}  // namespace asio
