// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "weft/detail/fleet/fleet_call_all.hpp"
#include "weft/detail/fleet/fleet_options.hpp"
#include "weft/detail/functions/call.hpp"

namespace weft::detail {

template <typename... Given>
inline constexpr bool fleet_options_first = false;
template <typename First, typename... Others>
inline constexpr bool fleet_options_first<First, Others...> =
    std::is_same_v<std::remove_cvref_t<First>, FleetCallOptions> ||
    std::is_same_v<std::remove_cvref_t<First>, CallOptions>;

/// Arguments without options before them.
template <typename... Given>
concept WithoutFleetOptions = !fleet_options_first<Given...>;

template <auto M>
inline constexpr bool wants_fleet_options = false;

/// Fails to compile with the reason in words: a client's options were given to a fleet.
template <auto M>
consteval void explain_fleet_options() {
  static_assert(
      wants_fleet_options<M>,
      "weft cannot make this call: a fleet's options are FleetCallOptions: {.call = {.timeout = ...}}");
}

/// Adds the calls of functions to a class that has access to a fleet: of a fleet, by coroutines of its loop
/// and of others, and by threads that block. `Derived` makes them, by `make_call`, `make_call_all` and
/// `make_call_quorum`. Arguments, and errors except those named here, as FunctionCaller::call(); options of
/// this call come first, if there are any.
template <typename Derived>
class FleetCalls {
 public:
  /// Calls a function of one of the servers: a Result<R>. Errors: those of the last attempt;
  /// kDeadlineExceeded with the reason when no server could be asked in time; kUnavailable at once for the
  /// same without FleetOptions::waits_for_ready.
  template <auto M, typename... Given>
    requires WithoutFleetOptions<Given...>
  auto call(Given&&... arguments) const {
    return call<M>(FleetCallOptions{}, std::forward<Given>(arguments)...);
  }
  template <auto M, typename... Given>
  auto call(const FleetCallOptions& options, Given&&... arguments) const {
    if constexpr (can_call<M, Given...>()) {
      return self().template make_call<M>(options, std::forward<Given>(arguments)...);
    } else {
      if constexpr (!has_items<MethodTraits<M>>)
        explain_arguments(typename MethodTraits<M>::Arguments{}, TypeList<Given...>{});
      return Derived::template never<Result<void>>();
    }
  }
  template <auto M>
  void call(const CallOptions& /*options*/, ...) const {
    explain_fleet_options<M>();
  }

  /// Calls a function once at each server that takes calls (in the subset, and with a weight), ejected or
  /// not, and returns all outcomes, in the order of the servers' URLs: FleetAnswers<R>. Counts as one call.
  /// An unreachable server fails its part; nothing is tried again. Without a list it waits for one. Errors:
  /// as for call(), when there is no server to call; kInvalidArgument, without a call, for options that serve
  /// one answer: `landing`, `landing_rate` and `progress`.
  template <auto M, typename... Given>
    requires WithoutFleetOptions<Given...>
  auto call_all(Given&&... arguments) const {
    return call_all<M>(FleetCallOptions{}, std::forward<Given>(arguments)...);
  }
  template <auto M, typename... Given>
  auto call_all(const FleetCallOptions& options, Given&&... arguments) const {
    if constexpr (can_call<M, Given...>()) {
      return self().template make_call_all<M>(options, std::forward<Given>(arguments)...);
    } else {
      if constexpr (!has_items<MethodTraits<M>>)
        explain_arguments(typename MethodTraits<M>::Arguments{}, TypeList<Given...>{});
      return Derived::template never<Result<void>>();
    }
  }
  template <auto M>
  void call_all(const CallOptions& /*options*/, ...) const {
    explain_fleet_options<M>();
  }

  /// The same until `wanted` servers have answered well: the other calls are cancelled then, and have ended
  /// when this returns. They may have run. Returns the good answers only. Errors: as call_all();
  /// kInvalidArgument when `wanted` is zero; kFailedPrecondition, without a call, when there are fewer
  /// servers; kUnavailable when fewer answered well, with the first failure: the calls that succeeded have
  /// run all the same.
  template <auto M, typename... Given>
    requires WithoutFleetOptions<Given...>
  auto call_quorum(std::size_t wanted, Given&&... arguments) const {
    return call_quorum<M>(wanted, FleetCallOptions{}, std::forward<Given>(arguments)...);
  }
  template <auto M, typename... Given>
  auto call_quorum(std::size_t wanted, const FleetCallOptions& options, Given&&... arguments) const {
    if constexpr (can_call<M, Given...>()) {
      return self().template make_call_quorum<M>(wanted, options, std::forward<Given>(arguments)...);
    } else {
      if constexpr (!has_items<MethodTraits<M>>)
        explain_arguments(typename MethodTraits<M>::Arguments{}, TypeList<Given...>{});
      return Derived::template never<Result<void>>();
    }
  }
  template <auto M>
  void call_quorum(std::size_t /*wanted*/, const CallOptions& /*options*/, ...) const {
    explain_fleet_options<M>();
  }

 private:
  friend Derived;
  FleetCalls() = default;

  const Derived& self() const { return static_cast<const Derived&>(*this); }

  /// Fails to compile with the reason in words when `M` is a stream; false also when the arguments do not
  /// fit.
  template <auto M, typename... Given>
  static consteval bool can_call() {
    static_assert(
        !has_items<MethodTraits<M>>,
        "weft cannot make this call: the function is a stream, which would belong to one connection, "
        "and a fleet chooses a server for each call; open it over a Client or a ConnectionPool of "
        "one server: auto stream = client.open<f>(arguments...)");
    return !has_items<MethodTraits<M>> && CallableWith<M, Given...>;
  }
};

}  // namespace weft::detail
