// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/result.hpp"
#include "weft/detail/calls/serve/call_context.hpp"
#include "weft/detail/calls/terms/handler_options.hpp"
#include "weft/detail/calls/terms/method_entry.hpp"
#include "weft/detail/coro/task.hpp"
#include "weft/detail/untyped/method.hpp"

namespace weft {

namespace detail {

/// A handler of messages in bytes, and its method. The server calls serve() from the threads of all its
/// loops.
class UntypedHandler {
 public:
  explicit UntypedHandler(UntypedMethod method) : method_(std::move(method)) {}
  UntypedHandler(const UntypedHandler&) = delete;
  UntypedHandler& operator=(const UntypedHandler&) = delete;
  virtual ~UntypedHandler() = default;

  virtual Task<Result<Buffer>> serve(CallContext& context, Bytes request) = 0;
  const UntypedMethod& method() const noexcept { return method_; }

 private:
  const UntypedMethod method_;
};

template <typename F>
class UntypedHandlerOf final : public UntypedHandler {
 public:
  UntypedHandlerOf(UntypedMethod method, F function)
      : UntypedHandler(std::move(method)), function_(std::move(function)) {}
  Task<Result<Buffer>> serve(CallContext& context, Bytes request) override {
    return function_(context, request);
  }

 private:
  F function_;
};

/// Entry of `handler`, which outlives the server.
MethodEntry untyped_entry(UntypedHandler& handler, const HandlerOptions& options);
/// The failure of a registration of `method`, which streams.
Status no_untyped_streams(const UntypedMethod& method);

template <typename S>
concept HasMethods = requires(S& server, const MethodEntry& entry, std::shared_ptr<void> owner) {
  server.register_method(entry, std::move(owner));
};

}  // namespace detail

/// A coroutine `Task<Result<Buffer>> f(CallContext&, Bytes request)`: gets the arguments and returns the
/// result as messages of the method's types. The request and the context stay until the coroutine has ended.
template <typename F>
concept UntypedFunction =
    std::move_constructible<F> && requires(F& function, CallContext& context, Bytes request) {
      { function(context, request) } -> std::same_as<Task<Result<Buffer>>>;
    };

/// Registers a handler whose method is known at run time, with a Server, or with a Client whose server calls
/// it. Typed clients call it like any other handler, and `weft.functions.v1` describes it. `function` is
/// owned from then on, and called on the loops of the server. It checks the request itself, and refuses one
/// that is no message of the method with kInvalidArgument. Its exceptions become failures, as those of other
/// handlers do. Call this before start(). Errors: kInvalidArgument for a method that streams.
template <detail::HasMethods S, UntypedFunction F>
Result<void> register_untyped(S& server, UntypedMethod method, F function,
                              const HandlerOptions& options = {}) {
  if (method.streams()) return detail::no_untyped_streams(method);
  auto owned = std::make_shared<detail::UntypedHandlerOf<F>>(std::move(method), std::move(function));
  detail::MethodEntry entry = detail::untyped_entry(*owned, options);
  server.register_method(entry, std::move(owned));
  return {};
}

}  // namespace weft
