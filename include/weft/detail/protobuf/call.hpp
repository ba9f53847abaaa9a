// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/calls/call/awaited_call.hpp"
#include "weft/detail/calls/client/call_client.hpp"
#include "weft/detail/protobuf/message.hpp"
#include "weft/detail/protobuf/method.hpp"

namespace weft::protobuf {

namespace detail {

/// One call's messages: the caller's request, and an answer of its own or the caller's.
template <typename Request, typename Response, bool kInto>
class MessageBody {
 public:
  using Value = std::conditional_t<kInto, void, Response>;

  MessageBody(const Request& request, Response* into) : request_(&request), into_(into) {}

  Status check() const {
    if (!request_->IsInitialized()) [[unlikely]] {
      return incomplete(*request_);
    }
    return {};
  }
  std::size_t bytes() const {
    const std::size_t size = request_->ByteSizeLong();
    return size <= kMessageBytesMax ? size : weft::detail::kUnencodable;
  }
  void write(std::byte* to) const { write_message(*request_, to); }
  void read(Bytes body, Status& failure) noexcept { read_answer(response(), body, failure); }
  Response&& take()
    requires(!kInto)
  {
    return std::move(own_);
  }

 private:
  struct Nothing {};

  Response& response() {
    if constexpr (kInto) {
      return *into_;
    } else {
      return own_;
    }
  }

  const Request* request_;
  Response* into_;
  [[no_unique_address]] std::conditional_t<kInto, Nothing, Response> own_;
};

}  // namespace detail

/// Options that a call does not have: it is smaller without.
struct NoOptions {};

/// A call of a method that takes and gives one message: what a stub's methods return. It is made when it is
/// awaited, once, and no coroutine is: `Result<Response> answer = co_await stub.Echo(request);`
/// `Kept` is `const Request&` for a request that the caller keeps until the call has ended, or `Request`.
/// Errors: as Client::call; kInvalidArgument for a request without a required field, which is not sent,
/// kInternal for an answer that is none. Thread, cancel: as Client::call.
template <typename Kept, typename Response, typename Options = NoOptions, bool kInto = false,
          weft::detail::Returns kReturns = weft::detail::Returns::kResult>
class [[nodiscard("a call is made when it is awaited: co_await stub.Method(request)")]] UnaryCall {
  using Request = std::remove_cvref_t<Kept>;
  using Body = detail::MessageBody<Request, Response, kInto>;
  static constexpr bool kPlain = std::is_same_v<Options, NoOptions>;

 public:
  UnaryCall(Caller& client, const weft::detail::MethodKey& method, const Options& options, Kept request,
            Response* into = nullptr)
      : client_(&client),
        method_(&method),
        options_(options),
        request_(std::forward<Kept>(request)),
        into_(into) {}

  /// Reads the answer into `response`, which the caller keeps until the call has ended: one whose memory is
  /// used again, or one on an arena. The call gives Result<void> then.
  UnaryCall<Kept, Response, Options, true, kReturns> into(Response& response) &&
      requires(!kInto) { return {*client_, *method_, options_, std::forward<Kept>(request_), &response}; }
      /// Gives the attachment of the answer too: Result<Answer<Response>>.
      UnaryCall<Kept, Response, CallOptions, kInto, weft::detail::Returns::kAnswer> with_attachment() &&
      requires(kReturns == weft::detail::Returns::kResult) {
        CallOptions options;
        if constexpr (!kPlain) options = options_;
        return {*client_, *method_, options, std::forward<Kept>(request_), into_};
      }

      auto operator co_await() && {
    if constexpr (kPlain) {
      return weft::detail::AwaitedCall<Body, kReturns, weft::detail::WithoutDetails>{
          client_->target(), *method_, weft::detail::WithoutDetails{}, request_, into_};
    } else {
      return weft::detail::AwaitedCall<Body, kReturns, weft::detail::WithDetails>{
          client_->target(), *method_,
          weft::detail::WithDetails{options_, kReturns == weft::detail::Returns::kAnswer}, request_, into_};
    }
  }
  /// A call is awaited once: say so by std::move.
  void operator co_await() & = delete;

 private:
  Caller* client_;
  const weft::detail::MethodKey* method_;
  [[no_unique_address]] Options options_;
  Kept request_;
  Response* into_;
};

/// Base of every generated stub: the methods of one service, called over one client. It is copied freely, and
/// the client outlives it. Thread: the client's loop.
class Stub {
 public:
  explicit Stub(Caller& client) : client_(&client) {}
  Caller& client() const { return *client_; }

 private:
  Caller* client_;
};

}  // namespace weft::protobuf
