// SPDX-License-Identifier: Apache-2.0
#include "perf/beside.hpp"

#include <algorithm>
#include <utility>

#include "load/cpu.hpp"

namespace weft::perf {
namespace {

constexpr std::int64_t kTimerNs = 1'000'000;

}  // namespace

load::ClientOptions transfer_options(const load::ClientOptions& options) {
  const load::BesideFlags& beside = *options.beside;
  if (beside.transfers == load::Transfers::kItems) {
    load::ClientOptions items = options;
    items.size_bytes = beside.size_bytes;
    items.asked_answer_bytes.reset();
    items.attachment = false;
    items.streams = load::Streams::kDown;
    items.depth = beside.in_flight;
    items.connections = 1;
    items.rate = 0;
    items.silent = true;
    return items;
  }
  const bool pull = beside.transfers == load::Transfers::kPull;
  load::ClientOptions transfers = options;
  transfers.size_bytes = pull ? 0 : beside.size_bytes;
  transfers.asked_answer_bytes = pull ? beside.size_bytes : 0;
  transfers.attachment = true;
  transfers.depth = beside.in_flight;
  transfers.connections = 1;
  transfers.rate = 0;
  transfers.silent = true;
  return transfers;
}

TimerLateness TimerLateness::of(const load::Histogram& late_ns) {
  return {static_cast<double>(late_ns.value_at(0.99)) / 1e3, static_cast<double>(late_ns.max()) / 1e3};
}

Task<void> watch_timer(std::int64_t begin_ns, std::int64_t end_ns, load::Histogram* late_ns) {
  for (std::int64_t now_ns = load::now_ns(); now_ns < end_ns;) {
    const std::int64_t due_ns = now_ns + kTimerNs;
    const Result<void> slept = co_await sleep_until(time_of(due_ns));
    if (!slept.ok()) co_return;
    now_ns = load::now_ns();
    if (due_ns >= begin_ns)
      late_ns->record(static_cast<std::uint64_t>(std::max<std::int64_t>(now_ns - due_ns, 0)));
  }
}

void TimerWatch::start(Scope& scope, Client& client) {
  scope.spawn(&watch_timer, begin_ns_, end_ns_, &late_ns_);
  scope.spawn(&ask_server, this, &client);
}

Task<void> TimerWatch::ask_server(TimerWatch* watch, Client* client) {
  const Result<void> slept = co_await sleep_until(time_of(watch->begin_ns_));
  if (!slept.ok()) co_return;
  const auto for_ns = static_cast<std::uint64_t>(watch->end_ns_ - watch->begin_ns_);
  auto late = co_await client->call<remote<"perf/timer_lateness", TimerLateness(std::uint64_t)>>(for_ns);
  if (late.ok()) {
    watch->server_ = *late;
  } else {
    watch->failure_ = std::move(late).status();
  }
}

load::BesideReport TimerWatch::report() const {
  const TimerLateness ours = TimerLateness::of(late_ns_);
  return {.timer_p99_us = ours.p99_us,
          .timer_max_us = ours.max_us,
          .server_timer_p99_us = server_.p99_us,
          .server_timer_max_us = server_.max_us};
}

}  // namespace weft::perf
