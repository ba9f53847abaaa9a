// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/detail/calls/terms/attempt_record.hpp"
#include "weft/detail/coro/combine.hpp"
#include "weft/detail/fleet/fleet_call.hpp"
#include "weft/detail/fleet/quorum.hpp"

namespace weft {

/// Outcome of a call at one server of a fleet.
template <typename R>
struct FleetAnswer {
  std::string url;
  Result<R> outcome;
};

/// Outcomes of a call at several servers of a fleet, in the order of their URLs; or the reason why no server
/// was called.
template <typename R>
using FleetAnswers = Result<std::vector<FleetAnswer<R>>>;

namespace detail {

/// Wanted answers of a call that wants the outcome of every server.
inline constexpr std::size_t kAllServers = SIZE_MAX;

/// A call at each server at once, until `wanted` have succeeded; kAllServers: until all have ended. `source`
/// is kept in its frame.
template <typename Body, typename Source>
  requires AttemptBody<Body, Source>
Task<FleetAnswers<typename Body::Value>> fleet_call_all(std::shared_ptr<FleetCore> core,
                                                        const MethodKey& method, FleetCallOptions options,
                                                        std::size_t wanted, Source source) {
  using R = typename Body::Value;
  std::vector<FleetAnswer<R>> answers;
  if (const std::string_view option = option_for_one_answer(options.call); !option.empty()) {
    co_return shared_by_answers(option);
  }
  CancelScope* scope = co_await this_cancel_scope();
  core->on_call();
  TurnOfLoop turn{core->loop()};
  co_await turn;
  FleetRun run{core, method, options, scope};
  while (core->list().used() == 0) {
    if (Status why = core->hopeless(); !why.ok()) co_return run.outcome(std::move(why));
    Task<Result<void>> waiting = run.wait();
    Result<void> waited = co_await std::move(waiting);
    if (!waited.ok()) co_return run.outcome(waited.status());
  }
  if (wanted != kAllServers && wanted > core->list().used()) {
    co_return quorum_too_large(wanted, core->list().used());
  }
  std::deque<FleetHold> holds;
  std::vector<Task<Result<R>>> calls;
  for (const std::unique_ptr<FleetMember>& member : core->list().members()) {
    if (!member->is_used()) continue;
    holds.emplace_back(*core, *member);
    answers.push_back({member->url, Result<R>{Status{StatusCode::kUnknown, Layer::kRpc, "not asked"}}});
    calls.push_back(fleet_call_at<Body>(core, *member, method, options, source));
  }
  std::vector<Result<R>> results;
  if (wanted == kAllServers) {
    Task<std::vector<Result<R>>> all = when_all(std::move(calls));
    results = co_await std::move(all);
  } else {
    Task<Quorum<R>> all = when_quorum<R>(wanted, std::move(calls));
    Quorum<R> quorum = co_await std::move(all);
    results = std::move(quorum.results);
  }
  for (std::size_t i = 0; i < answers.size(); ++i) answers[i].outcome = std::move(results[i]);
  co_return answers;
}

/// The same, and gives the good answers only.
template <typename Body, typename Source>
  requires AttemptBody<Body, Source>
Task<FleetAnswers<typename Body::Value>> fleet_call_quorum(std::shared_ptr<FleetCore> core,
                                                           const MethodKey& method, FleetCallOptions options,
                                                           std::size_t wanted, Source source) {
  using R = typename Body::Value;
  if (wanted == 0) co_return quorum_of_none();
  auto asking = fleet_call_all<Body>(std::move(core), method, options, wanted, std::move(source));
  FleetAnswers<R> answers = co_await std::move(asking);
  if (!answers.ok()) co_return answers;
  std::vector<FleetAnswer<R>> good;
  std::size_t bad = 0;
  AttemptRecord record;
  Status first;
  Status cancelled;
  for (FleetAnswer<R>& one : *answers) {
    record.add(one.outcome.status());
    if (one.outcome.ok()) {
      good.push_back(std::move(one));
    } else if (one.outcome.status().code() == StatusCode::kCancelled) {
      cancelled = one.outcome.status().with_context([&] { return one.url; });
    } else if (++bad == 1) {
      first = one.outcome.status().with_context([&] { return one.url; });
    }
  }
  if (good.size() >= wanted) co_return good;
  const bool failed = bad != 0;
  if (!failed) bad = answers->size() - good.size();
  co_return record.outcome(
      quorum_not_reached(good.size(), bad, answers->size(), wanted, failed ? first : cancelled));
}

}  // namespace detail

}  // namespace weft
