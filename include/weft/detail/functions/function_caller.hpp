// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <tuple>
#include <utility>

#include "weft/detail/functions/call.hpp"
#include "weft/detail/functions/client_stream.hpp"
#include "weft/detail/functions/named_first.hpp"

namespace weft {

namespace detail {

/// Gives a class that has a CallTarget, which its `target()` returns, the calls of functions: a client of one
/// connection, a pool of several. Thread, life: as the class says.
template <typename Derived>
class FunctionCaller {
 public:
  /// Calls a function, whose declaration must be in sight; its definition need not be: `Result<R> answer =
  /// co_await client.call<f>(arguments...);` Errors: the handler's own; kUnavailable (retry: reconnect) when
  /// the connection was lost and the call may or may not have run; kDeadlineExceeded; kCancelled;
  /// kResourceExhausted; kUnimplemented for an unknown method; kFailedPrecondition when the server's
  /// signature differs, naming both. Arguments convert as for a direct call (CallableWith); options of this
  /// call come first, if there are any. `co_await client.call<f>(arguments...).with_attachment()` also
  /// returns the attachment of the answer: `Result<Answer<R>>`.
  template <auto M, typename... Given>
    requires WithoutOptions<Given...>
  auto call(Given&&... arguments) {
    return make_call<M, WithoutDetails>(WithoutDetails{}, std::forward<Given>(arguments)...);
  }
  template <auto M, typename... Given>
  auto call(const CallOptions& options, Given&&... arguments) {
    return make_call<M, WithDetails>(options, std::forward<Given>(arguments)...);
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

  /// Opens a stream: calls a function that returns a Stream<T>, or takes a Reader<T>& or a Writer<T>&. A
  /// declaration of the function suffices. Arguments are the parameters that travel, encoded before this
  /// returns; options come first, if there are any. Returns a ClientStream, which also reports errors: also
  /// kUnimplemented when the server's build has no streams.
  template <auto M, typename... Given>
    requires WithoutOptions<Given...>
  StreamOf<M> open(Given&&... arguments) {
    return open_with<M>(CallOptions{}, std::forward<Given>(arguments)...);
  }
  template <auto M, typename... Given>
  StreamOf<M> open(const CallOptions& options, Given&&... arguments) {
    return open_with<M>(options, std::forward<Given>(arguments)...);
  }

 private:
  friend Derived;
  FunctionCaller() = default;

  CallTarget& its_target() { return static_cast<Derived*>(this)->target(); }

  template <auto M, typename Details, typename Its, typename... Given>
  auto make_call(const Its& its, Given&&... arguments) {
    refuse_what_dies_twice<Given...>();
    if constexpr (!explain_callable<M>()) {
      return Task<Result<void>>{};
    } else if constexpr (CallableWith<M, Given...> && explain_types_of<M>()) {
      return CallAwaitable<M, Details, Given...>{its_target(), method_key<M>, its, std::in_place,
                                                 std::forward<Given>(arguments)...};
    } else {
      explain_arguments(typename MethodTraits<M>::Arguments{}, TypeList<Given...>{});
      return Task<Result<ResultOfMethod<M>>>{};
    }
  }

  template <auto M, typename... Given>
  Call<ResultOfMethod<M>> start_with(const CallOptions& options, Given&&... arguments) {
    if constexpr (CallableWith<M, Given...>) {
      typename KeptArguments<typename MethodTraits<M>::Arguments, Given...>::Tuple kept{
          std::forward<Given>(arguments)...};
      auto record = std::make_unique<StartedCall<ResultOfMethod<M>>>(its_target(), method_key<M>, options);
      std::apply([&](const auto&... values) { record->start(values...); }, kept);
      return Call<ResultOfMethod<M>>{std::move(record)};
    } else {
      explain_arguments(typename MethodTraits<M>::Arguments{}, TypeList<Given...>{});
      return {};
    }
  }

  template <auto M, typename... Given>
  StreamOf<M> open_with(const CallOptions& options, Given&&... arguments) {
    static_assert(has_items<MethodTraits<M>>,
                  "weft cannot open this stream: the function has one answer, for it takes no Reader and no "
                  "Writer and returns no Stream; call it: co_await client.call<f>(arguments...)");
    if constexpr (CallableWith<M, Given...>) {
      using Record = StartedStream<typename OwnedResult<typename MethodTraits<M>::Result>::Type>;
      typename KeptArguments<typename MethodTraits<M>::Arguments, Given...>::Tuple kept{
          std::forward<Given>(arguments)...};
      auto record = std::make_unique<Record>(its_target(), method_key<M>, options);
      std::apply([&](const auto&... values) { record->start(values...); }, kept);
      return StreamOf<M>{std::move(record)};
    } else {
      explain_arguments(typename MethodTraits<M>::Arguments{}, TypeList<Given...>{});
      return {};
    }
  }
};

}  // namespace detail

}  // namespace weft
