// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <tuple>
#include <utility>

#include "weft/calls/call_client.hpp"
#include "weft/calls/transfer_progress.hpp"
#include "weft/functions/call.hpp"
#include "weft/transports.hpp"

namespace weft {

/// Calls functions of one server, over one connection: a CallClient whose arguments and results are written
/// and read by the codec. Thread, life: as CallClient.
class Client final : public CallClient {
 public:
  /// Uses all transports of this build, its own ones. `loop` must outlive the client.
  Client(Loop& loop, ClientOptions options, TransportOptions transports = {});
  /// Uses these transports, which may be shared with other clients and servers.
  Client(Loop& loop, ClientOptions options, Transports transports)
      : CallClient(loop, std::move(options), std::move(transports)) {}

  /// Calls a function: `Result<R> reply = co_await client.call<f>(arguments...);`
  /// Errors: the handler's own; kUnavailable (retry: reconnect) when the connection was lost and the call may
  /// or may not have run; kDeadlineExceeded; kCancelled; kResourceExhausted; kUnimplemented for an unknown
  /// method; kFailedPrecondition when the server's signature is another, naming both.
  /// Arguments convert as for a direct call (CallableWith); options of this call come first, if there are
  /// any. `co_await client.call<f>(arguments...).with_attachment()` gives the attachment of the answer too:
  /// `Result<Answer<R>>`.
  template <auto M, typename... Given>
    requires WithoutOptions<Given...>
  auto call(Given&&... arguments) {
    return make_call<M>(detail::WithoutDetails{}, std::forward<Given>(arguments)...);
  }
  template <auto M, typename... Given>
  auto call(const CallOptions& options, Given&&... arguments) {
    return make_call<M>(detail::WithDetails{options, false}, std::forward<Given>(arguments)...);
  }

  /// Sends a request now and gives a handle to await, keep or drop. Arguments are encoded before this
  /// returns.
  template <auto M, typename... Given>
    requires WithoutOptions<Given...>
  Call<ResultOfMethod<M>> start(Given&&... arguments) {
    return start_with<M>(CallOptions{}, std::forward<Given>(arguments)...);
  }
  template <auto M, typename... Given>
  Call<ResultOfMethod<M>> start(const CallOptions& options, Given&&... arguments) {
    return start_with<M>(options, std::forward<Given>(arguments)...);
  }

 private:
  template <auto M, typename Details, typename... Given>
  auto make_call(Details details, Given&&... arguments) {
    if constexpr (CallableWith<M, Given...>) {
      return CallAwaitable<M, Details, Given...>{target(), method_key<M>, std::move(details), std::in_place,
                                                 std::forward<Given>(arguments)...};
    } else {
      explain<M, Given...>();
      return Task<Result<ResultOfMethod<M>>>{};
    }
  }

  template <auto M, typename... Given>
  Call<ResultOfMethod<M>> start_with(const CallOptions& options, Given&&... arguments) {
    if constexpr (CallableWith<M, Given...>) {
      typename detail::KeptArguments<typename detail::MethodTraits<M>::Arguments, Given...>::Tuple kept{
          std::forward<Given>(arguments)...};
      auto record =
          std::make_unique<detail::StartedCall<ResultOfMethod<M>>>(target(), method_key<M>, options);
      std::apply([&](const auto&... values) { record->start(values...); }, kept);
      return Call<ResultOfMethod<M>>{std::move(record)};
    } else {
      explain<M, Given...>();
      return {};
    }
  }

  template <auto M, typename... Given>
  static consteval void explain() {
    detail::explain_arguments(typename detail::MethodTraits<M>::Arguments{}, detail::TypeList<Given...>{});
  }
};

}  // namespace weft
