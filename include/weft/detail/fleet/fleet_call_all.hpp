// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/detail/coro/combine.hpp"
#include "weft/detail/fleet/fleet_call.hpp"
#include "weft/detail/fleet/quorum.hpp"

namespace weft {

/// Outcome of a call at one server of a fleet.
template <typename R>
struct FleetReply {
  std::string url;
  Result<R> reply;
};

/// Outcomes of a call at several servers of a fleet, in the order of their URLs; or why nobody was asked.
template <typename R>
using FleetReplies = Result<std::vector<FleetReply<R>>>;

namespace detail {

/// Wanted answers of a call that wants the outcome of every server.
inline constexpr std::size_t kAllServers = SIZE_MAX;

/// A call at each server at once, until `wanted` have succeeded; kAllServers: until all have ended. `source`
/// is kept in its frame.
template <typename Body, typename Source>
  requires AttemptBody<Body, Source>
Task<FleetReplies<typename Body::Value>> fleet_call_all(std::shared_ptr<FleetCore> core,
                                                        const MethodKey& method, FleetCallOptions options,
                                                        std::size_t wanted, Source source) {
  using R = typename Body::Value;
  std::vector<FleetReply<R>> replies;
  CancelScope* scope = co_await this_cancel_scope();
  core->on_call();
  TurnOfLoop turn{core->loop()};
  co_await turn;
  FleetRun run{core, method, options, scope};
  while (core->list().used() == 0) {
    if (Status why = core->hopeless(); !why.ok()) co_return why;
    Task<Result<void>> waiting = run.wait();
    Result<void> waited = co_await std::move(waiting);
    if (!waited.ok()) co_return waited.status();
  }
  if (wanted != kAllServers && wanted > core->list().used()) {
    co_return quorum_too_large(wanted, core->list().used());
  }
  std::deque<FleetHold> holds;
  std::vector<Task<Result<R>>> calls;
  for (const std::unique_ptr<FleetMember>& member : core->list().members()) {
    if (!member->is_used()) continue;
    holds.emplace_back(*core, *member);
    replies.push_back({member->url, Result<R>{Status{StatusCode::kUnknown, Layer::kRpc, "not asked"}}});
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
  for (std::size_t i = 0; i < replies.size(); ++i) replies[i].reply = std::move(results[i]);
  co_return replies;
}

/// The same, and gives the good answers only.
template <typename Body, typename Source>
  requires AttemptBody<Body, Source>
Task<FleetReplies<typename Body::Value>> fleet_call_quorum(std::shared_ptr<FleetCore> core,
                                                           const MethodKey& method, FleetCallOptions options,
                                                           std::size_t wanted, Source source) {
  using R = typename Body::Value;
  if (wanted == 0) co_return quorum_of_none();
  auto asking = fleet_call_all<Body>(std::move(core), method, options, wanted, std::move(source));
  FleetReplies<R> replies = co_await std::move(asking);
  if (!replies.ok()) co_return replies;
  std::vector<FleetReply<R>> good;
  std::size_t bad = 0;
  Status first;
  Status cancelled;
  for (FleetReply<R>& one : *replies) {
    if (one.reply.ok()) {
      good.push_back(std::move(one));
    } else if (one.reply.status().code() == StatusCode::kCancelled) {
      cancelled = one.reply.status();
    } else if (++bad == 1) {
      first = one.reply.status();
    }
  }
  if (good.size() >= wanted) co_return good;
  if (bad != 0) co_return quorum_not_reached(good.size(), bad, replies->size(), wanted, first);
  co_return quorum_not_reached(good.size(), replies->size() - good.size(), replies->size(), wanted,
                               cancelled);
}

}  // namespace detail

}  // namespace weft
