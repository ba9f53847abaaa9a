// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "weft/detail/fleet/encoded_arguments.hpp"
#include "weft/detail/fleet/fleet_call.hpp"
#include "weft/detail/fleet/fleet_call_all.hpp"
#include "weft/detail/fleet/shared_arguments.hpp"
#include "weft/detail/functions/method.hpp"

namespace weft::detail {

/// A fleet's call that another thread requests: everything that its coroutine on the fleet's loop needs.
struct FarCall {
  /// Returns the fleet's servers, null when it has ended; the call carries from here on what its caller did.
  std::shared_ptr<FleetCore> take_up();

  std::weak_ptr<FleetCore> fleet;
  FleetCallOptions options;
  EncodedArguments arguments;
  /// Metadata of the coroutine that asks.
  std::vector<std::byte> carried{};
};

/// The failure of a call through a fleet that has ended.
Status fleet_has_ended() noexcept;
/// Returns the failure of a call that another thread or loop waited for; in a fleet's words if it was that
/// the fleet's loop was stopped.
Status failure_of_far_call(Status failure, bool lost_its_loop) noexcept;
/// Says whether the options of a call name memory of its caller's.
bool names_memory(const FleetCallOptions& options) noexcept;

/// Creates the coroutine of a FarCall, on the fleet's loop; `Wish` names the requested operation.
template <typename Outcome, typename Wish>
using BeginFarCall = Task<Outcome> (*)(FarCall, Wish);

template <auto M>
using FarBody = SharedArguments<M, EncodedArguments>;

template <auto M>
Task<Result<Answer<ResultOfMethod<M>>>> far_answer(FarCall call, bool with_attachment) {
  std::shared_ptr<FleetCore> core = call.take_up();
  if (core == nullptr) co_return fleet_has_ended();
  auto calling = fleet_call<FarBody<M>>(std::move(core), method_key<M>, call.options,
                                        std::move(call.arguments), with_attachment);
  Result<Answer<ResultOfMethod<M>>> answer = co_await std::move(calling);
  co_return answer;
}

template <auto M>
Task<Result<ResultOfMethod<M>>> far_value(FarCall call, bool with_attachment) {
  Task<Result<Answer<ResultOfMethod<M>>>> calling = far_answer<M>(std::move(call), with_attachment);
  Result<Answer<ResultOfMethod<M>>> answer = co_await std::move(calling);
  co_return value_of(std::move(answer));
}

template <auto M>
Task<FleetAnswers<ResultOfMethod<M>>> far_call_all(FarCall call, std::size_t wanted) {
  std::shared_ptr<FleetCore> core = call.take_up();
  if (core == nullptr) co_return fleet_has_ended();
  auto calling = fleet_call_all<FarBody<M>>(std::move(core), method_key<M>, call.options, wanted,
                                            std::move(call.arguments));
  FleetAnswers<ResultOfMethod<M>> answers = co_await std::move(calling);
  co_return answers;
}

template <auto M>
Task<FleetAnswers<ResultOfMethod<M>>> far_call_quorum(FarCall call, std::size_t wanted) {
  std::shared_ptr<FleetCore> core = call.take_up();
  if (core == nullptr) co_return fleet_has_ended();
  auto calling = fleet_call_quorum<FarBody<M>>(std::move(core), method_key<M>, call.options, wanted,
                                               std::move(call.arguments));
  FleetAnswers<ResultOfMethod<M>> answers = co_await std::move(calling);
  co_return answers;
}

}  // namespace weft::detail
