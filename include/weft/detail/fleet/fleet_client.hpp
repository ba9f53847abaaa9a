// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/detail/coro/task.hpp"
#include "weft/detail/fleet/fleet_call.hpp"
#include "weft/detail/fleet/fleet_call_all.hpp"
#include "weft/detail/fleet/fleet_options.hpp"
#include "weft/detail/fleet/fleet_stats.hpp"
#include "weft/detail/fleet/shared_arguments.hpp"
#include "weft/detail/functions/call.hpp"
#include "weft/detail/functions/function_server.hpp"
#include "weft/detail/functions/peer.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/transports.hpp"

namespace weft {

namespace detail {

template <typename... Given>
inline constexpr bool fleet_options_first = false;
template <typename First, typename... Others>
inline constexpr bool fleet_options_first<First, Others...> =
    std::is_same_v<std::remove_cvref_t<First>, FleetCallOptions> ||
    std::is_same_v<std::remove_cvref_t<First>, CallOptions>;

}  // namespace detail

/// Calls functions of many servers that serve the same, by a name that says which they are:
/// `Result<R> reply = co_await fleet.call<f>(arguments...);`. Each call goes to one server, which the policy
/// chooses, and to another when that certainly did not run it, or when it is idempotent. Servers are
/// connected when they are first chosen; one that leaves the list finishes the calls that it has, and gets
/// no more.
///
/// Thread: its loop's, destructor included; every use on another one ends the process with words that say so.
/// It may be made on any thread, and destroyed on any when nobody runs the loop any more. Destroying it ends
/// its calls with kCancelled; it must not be destroyed inside a handler that one of its connections serves.
/// Calls are tasks: what they refer to stays until they have ended, so they are awaited in the expression
/// that made them. Without memory a call throws std::bad_alloc, where it is made or where it is awaited, and
/// nothing else suffers. Cancel: total before an attempt is sent, after that its outcome is unknown. Threads
/// without a loop write blocking(fleet), and coroutines of other loops on_loop_of(fleet).
///
/// A fleet serves too, as a Client does: what is registered before its first call, each server calls over the
/// connections that the fleet has to it. A server that was not called yet, or has left the list, has none.
class FleetClient final : public detail::FunctionServer<FleetClient> {
 public:
  /// Uses all transports of this build, its own ones. `loop` must outlive the client. A name that means
  /// nothing fails every call with kInvalidArgument.
  FleetClient(Loop& loop, FleetOptions options, TransportOptions transports = {});
  /// Uses these transports, which may be shared with other clients and servers.
  FleetClient(Loop& loop, FleetOptions options, Transports transports);
  ~FleetClient();
  FleetClient(const FleetClient&) = delete;
  FleetClient& operator=(const FleetClient&) = delete;

  /// Calls a function of one of the servers. Arguments as FunctionCaller::call().
  /// Errors: those of the last attempt; kDeadlineExceeded with the reason when no server could be asked in
  /// time; kUnavailable at once for the same without FleetOptions::waits_for_ready.
  template <auto M, typename... Given>
    requires(!detail::fleet_options_first<Given...> && detail::CallableWith<M, Given...>)
  Task<Result<detail::ResultOfMethod<M>>> call(Given&&... arguments) {
    return call<M>(FleetCallOptions{}, std::forward<Given>(arguments)...);
  }
  template <auto M, typename... Given>
    requires detail::CallableWith<M, Given...>
  Task<Result<detail::ResultOfMethod<M>>> call(const FleetCallOptions& options, Given&&... arguments) {
    return without_attachment(detail::fleet_call<Body<M, Given...>>(
        core_, detail::method_key<M>, options,
        detail::CodecBody<M, Given...>{std::in_place, std::forward<Given>(arguments)...}, false));
  }
  /// The same for a call whose answer brings an attachment.
  template <auto M, typename... Given>
    requires detail::CallableWith<M, Given...>
  Task<Result<Answer<detail::ResultOfMethod<M>>>> call_with_attachment(const FleetCallOptions& options,
                                                                       Given&&... arguments) {
    return detail::fleet_call<Body<M, Given...>>(
        core_, detail::method_key<M>, options,
        detail::CodecBody<M, Given...>{std::in_place, std::forward<Given>(arguments)...}, true);
  }

  /// Calls a function once at each server that calls may go to (those of the subset, and with a weight),
  /// ejected or not, and gives all outcomes in the list's order. Counts as one call. A server that cannot be
  /// reached fails its part; nothing is tried again. Without a list it waits for one. Errors: as call(), when
  /// there is no server to ask.
  template <auto M, typename... Given>
    requires detail::CallableWith<M, Given...>
  Task<FleetReplies<detail::ResultOfMethod<M>>> call_all(const FleetCallOptions& options,
                                                         Given&&... arguments) {
    return detail::fleet_call_all<Body<M, Given...>>(
        core_, detail::method_key<M>, options, detail::kAllServers,
        detail::CodecBody<M, Given...>{std::in_place, std::forward<Given>(arguments)...});
  }
  /// The same until `wanted` servers have answered well: the other calls are cancelled then, and have ended
  /// when this returns. They may have run. Gives the good answers only. Errors: as call_all();
  /// kFailedPrecondition, and nobody was asked, when there are not so many servers; kUnavailable when fewer
  /// answered well, with the first failure: the calls of those that did have run all the same.
  template <auto M, typename... Given>
    requires detail::CallableWith<M, Given...>
  Task<FleetReplies<detail::ResultOfMethod<M>>> call_quorum(std::size_t wanted,
                                                            const FleetCallOptions& options,
                                                            Given&&... arguments) {
    return detail::fleet_call_quorum<Body<M, Given...>>(
        core_, detail::method_key<M>, options, wanted,
        detail::CodecBody<M, Given...>{std::in_place, std::forward<Given>(arguments)...});
  }

  /// The seam for FunctionServer, as CallClient::register_method(), for all servers of the list and those
  /// that come into it. Before the first call. Throws std::bad_alloc.
  void register_method(const detail::MethodEntry& entry, std::shared_ptr<void> owner = nullptr);

  /// Ends the client's calls with kCancelled and closes all connections. Later calls fail.
  void close();
  Loop& loop() const;
  /// The seam for layers above this one, whose calls have bodies of their own: see detail::fleet_call().
  const std::shared_ptr<detail::FleetCore>& core() const { return core_; }
  /// Allocates nothing.
  FleetStats stats() const noexcept;
  /// Returns all servers of the list, in its order. Throws std::bad_alloc.
  std::vector<FleetEndpointStats> endpoint_stats() const;

 private:
  template <auto M, typename... Given>
  using Body = detail::SharedArguments<M, detail::CodecBody<M, Given...>>;

  template <typename R>
  static Task<Result<R>> without_attachment(Task<Result<Answer<R>>> calling) {
    Result<Answer<R>> answer = co_await std::move(calling);
    co_return detail::value_of(std::move(answer));
  }

  std::shared_ptr<detail::FleetCore> core_;
};

}  // namespace weft
