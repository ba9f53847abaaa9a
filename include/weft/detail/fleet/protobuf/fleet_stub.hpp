// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "weft/detail/fleet/fleet_call.hpp"
#include "weft/detail/fleet/fleet_client.hpp"
#include "weft/detail/fleet/protobuf/message_attempt.hpp"
#include "weft/detail/protobuf/call.hpp"
#include "weft/detail/protobuf/message.hpp"

namespace weft::protobuf {

namespace detail {

/// A request that the caller, or the call itself, keeps as a message.
template <typename Request, typename Response>
class KeptMessage {
 public:
  using Answer = Response;

  explicit KeptMessage(const Request& request) : body_(request, nullptr) {}

  std::size_t bytes() const { return body_.bytes(); }
  void write(std::byte* to) const { body_.write(to); }
  Response make_answer() const { return {}; }
  static Response& message(Response& answer) { return answer; }

 private:
  MessageBody<Request, Response, true> body_;
};

/// Waits for a call of a fleet, and gives what the caller of a stub wants of its answer.
template <typename Request, typename Response, bool kInto, weft::detail::Returns kReturns>
class [[nodiscard]] FleetCallAwaiter {
  static constexpr bool kGivesAnswer = kReturns == weft::detail::Returns::kAnswer;
  using Value = std::conditional_t<kInto, void, Response>;
  using Outcome = std::conditional_t<kGivesAnswer, Result<Answer<Value>>, Result<Value>>;
  using Shared = KeptMessage<Request, Response>;
  using Calling = Task<Result<Answer<Response>>>;

 public:
  /// `request` and `into` stay until the call has ended.
  FleetCallAwaiter(FleetClient& fleet, const weft::detail::MethodKey& method, const FleetCallOptions& options,
                   const Request& request, Response* into)
      : into_(into) {
    // No server can be asked what no server could read.
    if (!request.IsInitialized()) [[unlikely]] {
      failure_ = incomplete(request);
      failure_.mark_unprocessed();
      return;
    }
    calling_ = weft::detail::fleet_call<MessageAttempt<Shared>>(fleet.core(), method, options,
                                                                Shared{request}, kGivesAnswer);
  }

  bool await_ready() const noexcept { return false; }
  template <typename Promise>
  bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
    if (!calling_) return weft::detail::gives_way(resumption_, coroutine);
    return std::move(calling_).operator co_await().await_suspend(coroutine);
  }
  Outcome await_resume() {
    if (!calling_) return std::move(failure_);
    Result<Answer<Response>> answer = weft::detail::take_result(calling_);
    if (!answer.ok()) return std::move(answer).status();
    if constexpr (kInto) *into_ = std::move(answer->value);
    if constexpr (!kGivesAnswer) {
      return weft::detail::value_of(take(std::move(*answer)));
    } else {
      return take(std::move(*answer));
    }
  }

 private:
  static Result<Answer<Value>> take(Answer<Response>&& answer) {
    if constexpr (kInto) {
      return Answer<void>{answer.attachment_bytes, std::move(answer.attachment)};
    } else {
      return std::move(answer);
    }
  }

  Response* into_;
  Status failure_;
  Calling calling_;
  weft::detail::Resumption resumption_;
};

}  // namespace detail

/// A call of one of the servers of a fleet; returned by the methods of a stub over it. It is made when it is
/// awaited, once: `Result<Response> answer = co_await stub.Echo(request);` `Kept` is `const Request&` for a
/// request that the caller keeps, unchanged, until the call has ended, or `Request`. A method is idempotent
/// by its idempotency_level in the .proto, or by FleetCallOptions::call.idempotent. Errors: as
/// FleetClient::call; kInvalidArgument for a request without a required field, which is not sent, kInternal
/// for such an answer. Thread, cancel, memory: as FleetClient::call.
template <typename Kept, typename Response, bool kInto = false,
          weft::detail::Returns kReturns = weft::detail::Returns::kResult>
class [[nodiscard("a call is made when it is awaited: co_await stub.Method(request)")]] FleetUnaryCall {
  using Request = std::remove_cvref_t<Kept>;

 public:
  FleetUnaryCall(FleetClient& fleet, const weft::detail::MethodKey& method, const FleetCallOptions& options,
                 Kept request, Response* into = nullptr)
      : fleet_(&fleet),
        method_(&method),
        options_(options),
        request_(std::forward<Kept>(request)),
        into_(into) {}

  /// Moves the answer into `response`, which the caller keeps until the call has ended, and which is left as
  /// it is when that fails. The call gives Result<void> then.
  FleetUnaryCall<Kept, Response, true, kReturns> into(Response& response) &&
      requires(!kInto) { return {*fleet_, *method_, options_, std::forward<Kept>(request_), &response}; }
      /// Gives the attachment of the answer too: Result<Answer<Response>>.
      FleetUnaryCall<Kept, Response, kInto, weft::detail::Returns::kAnswer> with_attachment() &&
      requires(kReturns == weft::detail::Returns::kResult) {
        return {*fleet_, *method_, options_, std::forward<Kept>(request_), into_};
      }

      auto operator co_await() && {
    return detail::FleetCallAwaiter<Request, Response, kInto, kReturns>{*fleet_, *method_, options_, request_,
                                                                        into_};
  }
  /// A call is awaited once: say so by std::move.
  void operator co_await() & = delete;

 private:
  FleetClient* fleet_;
  const weft::detail::MethodKey* method_;
  FleetCallOptions options_;
  Kept request_;
  Response* into_;
};

/// Base of every generated stub over a fleet: the methods of one service, called at whichever of its servers.
/// It is copied freely, and the fleet outlives it. Thread: the fleet's loop.
class FleetStub {
 public:
  explicit FleetStub(FleetClient& fleet) : fleet_(&fleet) {}
  FleetClient& fleet() const { return *fleet_; }

 protected:
  /// Fails to compile with the reason in words: a method that streams was called.
  template <typename... Given>
  static consteval void explain_stream() {
    static_assert(sizeof...(Given) == SIZE_MAX,
                  "weft cannot open this stream: it would belong to one connection, and a fleet chooses a "
                  "server for each call; open it over a Client or a ConnectionPool, by the service's stub "
                  "without Fleet in its name");
  }

 private:
  FleetClient* fleet_;
};

}  // namespace weft::protobuf
