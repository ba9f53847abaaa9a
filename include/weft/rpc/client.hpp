// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "weft/base/log.hpp"
#include "weft/rpc/call.hpp"
#include "weft/rpc/limits.hpp"
#include "weft/rpc/transports.hpp"
#include "weft/runtime/loop.hpp"
#include "weft/transport/connection.hpp"

namespace weft {

/// Options that make no sense fail every call with kInvalidArgument, which names the option.
struct ClientOptions {
  /// Where the server is: "tcp://host:port", "unix:///path", "memory://name", "ucx://host:port",
  /// "verbs://host:port".
  std::string connect{};
  /// How long one attempt to connect may take, the hello included. Above zero.
  Duration connect_timeout = std::chrono::seconds{5};
  /// For calls without a timeout of their own; zero: none.
  Duration call_timeout = Duration::zero();
  /// Calls carry the metadata of the call that is being served, if they are given none. Set to
  /// false when calling a server that must not see the caller's metadata.
  bool carries_metadata = true;
  /// The wait after a failed attempt grows from `min` to `max`, doubled and jittered each time. Zero: none.
  Duration reconnect_wait_min = std::chrono::milliseconds{20};
  Duration reconnect_wait_max = std::chrono::seconds{1};
  /// Local address to bind before connecting; empty: any.
  std::string local_address{};
  /// Ask for checksums on every frame.
  bool checksums = false;
  RpcLimits limits{};
  Logger* logger = nullptr;
};

/// Counters of a client since it was made.
struct ClientStats {
  std::uint64_t connections = 0;       ///< connections that came up
  std::uint64_t connect_failures = 0;  ///< attempts that did not
  std::uint64_t late_answers = 0;      ///< answers to calls that had ended before, dropped
  std::size_t calls_in_flight = 0;     ///< sent and unanswered now
  std::size_t calls_waiting = 0;       ///< waiting for a connection or for room now
};

/// Calls methods of one server over one connection, which it makes at the first call, and again when it was
/// lost. Any number of calls may be in flight; they are answered in any order, and none waits for another.
/// Thread: its loop's, destructor included. Destroying it ends its calls with kCancelled; it must not be
/// destroyed inside a handler that its own connection serves.
class RpcClient {
 public:
  /// `loop` and `transports` must outlive the client.
  RpcClient(Loop& loop, const TransportSet& transports, ClientOptions options);
  ~RpcClient();
  RpcClient(const RpcClient&) = delete;
  RpcClient& operator=(const RpcClient&) = delete;

  /// Calls a function: `Result<R> reply = co_await client.call<f>(arguments...);`
  /// Errors: the handler's own; kUnavailable (retry: reconnect) when the connection was lost and the call may
  /// or may not have run; kDeadlineExceeded; kCancelled; kResourceExhausted; kUnimplemented for an unknown
  /// method; kFailedPrecondition when the server's signature is another, naming both.
  /// Arguments convert as for a direct call (CallableWith); options of this call come first, if there are
  /// any.
  template <auto M, typename... Given>
    requires WithoutOptions<Given...>
  auto call(Given&&... arguments) {
    return make_call<M, detail::Gives::kResult>(detail::WithoutExtras{}, std::forward<Given>(arguments)...);
  }
  template <auto M, typename... Given>
  auto call(const CallOptions& options, Given&&... arguments) {
    return make_call<M, detail::Gives::kResult>(detail::WithExtras{options, false},
                                                std::forward<Given>(arguments)...);
  }

  /// As call(), and gives the attachment of the answer too: `Result<Answer<R>>`.
  template <auto M, typename... Given>
  auto exchange(const CallOptions& options, Given&&... arguments) {
    return make_call<M, detail::Gives::kAnswer>(detail::WithExtras{options, true},
                                                std::forward<Given>(arguments)...);
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

  /// Connects without calling anything. Errors: as a first call's.
  Task<Result<void>> connect();
  /// Ends the client's calls with kCancelled and closes the connection. Later calls fail.
  void close();

  /// Lets attachments of this client's calls be sent from `memory`, and answers' attachments land in it
  /// (CallOptions::landing), without a copy, where its transport can do so; empty where it cannot. See
  /// MemoryLease for what to keep to. Errors: kResourceExhausted when the system does not let as much be
  /// pinned (the text says what to do).
  Result<MemoryLease> register_memory(MutableBytes memory) const;

  bool connected() const;
  /// Endpoints of the present connection, empty without one.
  std::string local_endpoint() const;
  std::string remote_endpoint() const;
  /// Name of the carrier of the present connection: "tcp", "unix", "memory", "ucx" or "verbs"; empty
  /// without one.
  std::string_view carried_by() const;
  /// Describes the data path in use, or says why there is none although both sides offered it; the client's
  /// logger has heard the latter as a warning too, at most once a second. Empty without a connection.
  PathReport path_report() const;
  ClientStats stats() const;
  Loop& loop() const;
  /// The seam for layers above this one, which make calls with bodies of their own: see AwaitedCall.
  ClientCore& core() const { return *core_; }

 private:
  template <auto M, detail::Gives kGives, typename Extras, typename... Given>
  auto make_call(Extras extras, Given&&... arguments) {
    if constexpr (CallableWith<M, Given...>) {
      return CallAwaitable<M, kGives, Extras, Given...>{*core_, method_key<M>, std::move(extras),
                                                        std::in_place, std::forward<Given>(arguments)...};
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
      auto record = std::make_unique<detail::StartedCall<ResultOfMethod<M>>>(*core_, method_key<M>, options);
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

  std::unique_ptr<ClientCore> core_;
};

}  // namespace weft
