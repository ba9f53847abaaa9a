// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/detail/coro/task.hpp"
#include "weft/detail/fleet/awaited_fleet_call.hpp"
#include "weft/detail/fleet/fleet_call_all.hpp"
#include "weft/detail/fleet/fleet_calls.hpp"
#include "weft/detail/fleet/fleet_options.hpp"
#include "weft/detail/fleet/fleet_stats.hpp"
#include "weft/detail/fleet/shared_arguments.hpp"
#include "weft/detail/functions/call.hpp"
#include "weft/detail/functions/function_server.hpp"
#include "weft/detail/functions/named_first.hpp"
#include "weft/detail/functions/peer.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/transports.hpp"

namespace weft {

/// Calls functions of many servers that serve the same, by a name that resolves to them: `Result<R> answer =
/// co_await fleet.call<f>(arguments...);`. Each call goes to one server, which the policy chooses, and to
/// another if that certainly did not run it, or if it is idempotent. Servers are connected when they are
/// first chosen; a server that leaves the list finishes its calls, and gets no more. call() and the other
/// calls are those of detail::FleetCalls, and each returns an awaitable for one await. `co_await
/// fleet.call<f>(arguments...).with_attachment()` also returns the attachment of the answer:
/// `Result<Answer<R>>`.
///
/// Thread: the loop's, destructor included; a use on another thread aborts the process with a message. It may
/// be created on any thread, and destroyed on any while no thread runs the loop. Destroying it ends its calls
/// with kCancelled; it may be closed and destroyed inside any callback. Calls refer to their arguments until
/// they have ended, so each is awaited in the expression that made it. Without memory a call throws
/// std::bad_alloc, where it is made or where it is awaited, without another effect. Cancel: total before an
/// attempt is sent, after that its outcome is unknown. Threads without a loop write blocking(fleet), and
/// coroutines of other loops on_loop_of(fleet).
///
/// A fleet serves too, as a Client does: each server calls the functions registered before the first call
/// over the connections that the fleet has to it. A server that was not called yet, or has left the list, has
/// no connection.
class FleetClient final : public detail::FleetCalls<FleetClient>, public detail::FunctionServer<FleetClient> {
 public:
  /// Uses all transports of this build, its own ones. `loop` must outlive the client. A name that means
  /// nothing fails every call with kInvalidArgument.
  FleetClient(Loop& loop, FleetOptions options, TransportOptions transports = {});
  /// Uses these transports, which may be shared with other clients and servers.
  FleetClient(Loop& loop, FleetOptions options, Transports transports);
  ~FleetClient();
  FleetClient(const FleetClient&) = delete;
  FleetClient& operator=(const FleetClient&) = delete;

  /// The seam for FunctionServer, as detail::CallClient::register_method(), for all servers of the list and
  /// those added later. Call it before the first call. Throws std::bad_alloc.
  void register_method(const detail::MethodEntry& entry, std::shared_ptr<void> owner = nullptr);

  /// Ends the client's calls with kCancelled and closes all connections. Later calls fail.
  void close();
  Loop& loop() const;
  /// The seam for layers above this one, whose calls have bodies of their own: see detail::fleet_call().
  const std::shared_ptr<detail::FleetCore>& core() const { return core_; }
  /// Allocates nothing.
  FleetStats stats() const noexcept;
  /// Returns all servers of the list, in the order of their URLs. Throws std::bad_alloc.
  std::vector<FleetEndpointStats> endpoint_stats() const;

 private:
  friend detail::FleetCalls<FleetClient>;
  template <auto M, typename... Given>
  using Body = detail::SharedArguments<M, detail::CodecBody<M, Given...>>;

  template <auto M, typename... Given>
  detail::AwaitedFleetCall<Body<M, Given...>, detail::CodecBody<M, Given...>> make_call(
      const FleetCallOptions& options, Given&&... arguments) const {
    return {core_, detail::method_key<M>, options, source<M>(std::forward<Given>(arguments)...)};
  }
  template <auto M, typename... Given>
  Task<FleetAnswers<detail::ResultOfMethod<M>>> make_call_all(const FleetCallOptions& options,
                                                              Given&&... arguments) const {
    return detail::fleet_call_all<Body<M, Given...>>(core_, detail::method_key<M>, options,
                                                     detail::kAllServers,
                                                     source<M>(std::forward<Given>(arguments)...));
  }
  template <auto M, typename... Given>
  Task<FleetAnswers<detail::ResultOfMethod<M>>> make_call_quorum(std::size_t wanted,
                                                                 const FleetCallOptions& options,
                                                                 Given&&... arguments) const {
    return detail::fleet_call_quorum<Body<M, Given...>>(core_, detail::method_key<M>, options, wanted,
                                                        source<M>(std::forward<Given>(arguments)...));
  }
  template <auto M, typename... Given>
  static detail::CodecBody<M, Given...> source(Given&&... arguments) {
    detail::refuse_what_dies_twice<Given...>();
    return detail::CodecBody<M, Given...>{std::in_place, std::forward<Given>(arguments)...};
  }
  /// The type of a call that does not compile.
  template <typename T>
  static Task<T> never();

  std::shared_ptr<detail::FleetCore> core_;
};

}  // namespace weft
