// SPDX-License-Identifier: Apache-2.0
#include "perf/client.hpp"

#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "load/carrier_options.hpp"
#include "load/cpu.hpp"
#include "load/token.hpp"
#include "perf/beside.hpp"
#include "perf/exchanges.hpp"
#include "perf/limits.hpp"
#include "perf/measurement.hpp"
#include "perf/streams.hpp"
#include "weft/weft.hpp"

namespace weft::perf {
namespace {

using Clients = std::vector<std::unique_ptr<Client>>;
using SomeClients = std::span<const std::unique_ptr<Client>>;

/// Interval at which the end of the measurement is looked for when no answer comes.
constexpr Duration kTick = std::chrono::milliseconds{20};
/// Time that the last answers may take after the end.
constexpr Duration kDrain = std::chrono::seconds{5};

/// One of the calls in flight: calls again and again until the measurement is over or a call gets no answer.
/// In a closed loop a call starts when the one before was answered; in an open loop when the schedule says,
/// or as soon as possible after that.
template <typename Exchange>
Task<void> call_again_and_again(Measurement* measurement, Client* client, std::uint64_t first_tag) {
  Exchange exchange{*measurement, *client};
  load::Meter& meter = measurement->meter();
  auto& schedule = measurement->schedule();
  for (std::uint64_t tag = first_tag;; ++tag) {
    std::int64_t started_ns = measurement->now_ns();
    if (schedule) {
      const std::int64_t intended_ns = schedule->next_ns();
      if (intended_ns >= meter.end_ns()) co_return;
      schedule->take();
      if (intended_ns > started_ns) {
        const Result<void> slept = co_await sleep_until(time_of(intended_ns));
        if (!slept.ok()) co_return;
      }
      started_ns = intended_ns;
    }
    if (!meter.tick(measurement->now_ns())) {
      if (schedule) meter.never_started(started_ns);
      co_return;
    }
    auto answer = co_await exchange.call(tag);
    if (!answer.ok()) [[unlikely]] {
      measurement->fail(std::move(answer).status());
      co_return;
    }
    if (exchange.intact(*answer, tag)) {
      meter.complete(started_ns, measurement->now_ns());
    } else {
      meter.fail();
    }
  }
}

/// Notices the end when no answer does, and gives up on answers that never come.
Task<void> watch_the_clock(Measurement* measurement, Scope* callers) {
  while (measurement->meter().tick(load::now_ns())) {
    const Result<void> slept = co_await sleep_for(kTick);
    if (!slept.ok()) co_return;
  }
  const Result<void> drained = co_await sleep_for(kDrain);
  if (drained.ok()) callers->cancel(CancelReason::kDeadline);
}

void start_streams(Scope& callers, Measurement& measurement, SomeClients clients) {
  std::uint64_t stream = 0;
  for (unsigned i = 0; i < measurement.options().depth; ++i) {
    for (const auto& client : clients) {
      callers.spawn(&measure_stream, &measurement, client.get(), stream++ << 40);
    }
  }
}

template <typename Exchange>
void start_callers(Scope& callers, Measurement& measurement, SomeClients clients) {
  std::uint64_t caller = 0;
  for (unsigned i = 0; i < measurement.options().depth; ++i) {
    for (const auto& client : clients) {
      callers.spawn(&call_again_and_again<Exchange>, &measurement, client.get(), caller++ << 40);
    }
  }
}

void start_all_callers(Scope& callers, Measurement& measurement, SomeClients clients) {
  const load::ClientOptions& options = measurement.options();
  if (options.streams != load::Streams::kNone) {
    start_streams(callers, measurement, clients);
  } else if (options.attachment && options.asked_answer_bytes) {
    start_callers<GeneratedAttachment>(callers, measurement, clients);
  } else if (options.attachment) {
    start_callers<EchoAttachment>(callers, measurement, clients);
  } else if (options.asked_answer_bytes) {
    start_callers<GeneratedBody>(callers, measurement, clients);
  } else {
    start_callers<EchoBody>(callers, measurement, clients);
  }
}

/// Says how far a measurement came whose calls were answered no more.
std::string how_far(const load::ClientOptions& options, const load::Meter& meter) {
  const double seconds = static_cast<double>(load::now_ns() - meter.begin_ns()) / 1e9;
  char text[100];
  if (seconds < 0) {
    std::snprintf(text, sizeof text, "during the warm-up");
  } else {
    std::snprintf(text, sizeof text, "%.2f s and %llu calls after the warm-up", seconds,
                  static_cast<unsigned long long>(meter.report().calls));
  }
  return options.connect + ": no call was answered any more " + text;
}

/// Starts the transfers, if there are any, on the last client or on the first one.
void start_transfers(Scope& callers, std::optional<Measurement>& transfers, SomeClients clients) {
  if (!transfers) return;
  const bool apart = transfers->options().beside->apart;
  start_all_callers(callers, *transfers, apart ? clients.last(1) : clients.first(1));
}

Task<Result<load::Report>> measure(const load::ClientOptions& options, Loop& loop, const Clients& clients) {
  for (const auto& client : clients) {
    const Result<void> connected = co_await client->connect();
    if (!connected.ok()) co_return connected.status();
  }
  const std::string carrier{clients.front()->carried_by()};
  Measurement measurement{options, loop, carrier};
  if (options.attachment && options.rdma.register_memory) {
    const Status refused = measurement.register_memory(*clients.front());
    if (!refused.ok()) co_return refused;
  }
  std::optional<Measurement> transfers;
  if (options.beside && options.beside->transfers != load::Transfers::kNone) {
    transfers.emplace(transfer_options(options), loop, carrier);
  }
  load::Meter& meter = measurement.meter();
  std::optional<TimerWatch> timers;
  Scope callers;
  Scope watcher;
  start_all_callers(callers, measurement, SomeClients{clients}.first(options.connections));
  start_transfers(callers, transfers, clients);
  if (options.beside) timers.emplace(meter.begin_ns(), meter.end_ns()).start(callers, *clients.front());
  watcher.spawn(&watch_the_clock, &measurement, &callers);
  co_await callers.join();
  const Status& failure = measurement.first_failure();
  const bool ended_early = load::now_ns() < meter.end_ns();
  if (ended_early && failure.ok()) {
    // An open loop has nothing more to start; the rest of the time still belongs to the measurement.
    static_cast<void>(co_await sleep_until(time_of(meter.end_ns())));
    meter.tick(load::now_ns());
  }
  watcher.cancel(CancelReason::kRequested);
  co_await watcher.join();

  if (failure.code() == StatusCode::kUnimplemented) {
    co_return failure.with_context(
        options.connect + " is no `weft perf` server; start one with `weft perf server --listen URL`");
  }
  if (ended_early && !failure.ok()) co_return failure.with_context(how_far(options, meter));
  if (!failure.ok()) std::fprintf(stderr, "weft perf: a call failed: %s\n", failure.to_string().c_str());
  if (auto& schedule = measurement.schedule()) {
    while (schedule->next_ns() < meter.end_ns()) meter.never_started(schedule->take());
  }
  load::Report report = meter.report();
  report.carrier = carrier;
  if (!timers) co_return report;
  if (transfers && !transfers->first_failure().ok()) {
    co_return transfers->first_failure().with_context("a transfer beside the calls");
  }
  if (!timers->failure().ok()) co_return timers->failure().with_context("the timer of the server");
  report.beside = timers->report();
  if (transfers) {
    const load::Report moved = transfers->meter().report();
    report.beside->transfers = moved.calls;
    report.beside->transfers_gbps = moved.gbps;
  }
  co_return report;
}

}  // namespace

Result<load::Report> blocking_measure(const load::ClientOptions& options) {
  if (Status status = load::pin_this_thread(options.cpus, 0); !status.ok()) return status;
  LoopOptions loop_options;
  loop_options.mode = wait_mode(options.mode);
  auto loop = Loop::create(loop_options);
  if (!loop.ok()) return loop.status();

  TransportOptions transport_options;
  transport_options.tcp.congestion = options.congestion;
  transport_options.ucx = load::ucx_options(options.ucx);
  transport_options.verbs = load::verbs_options(options.rdma);
  transport_options.tls = load::tls_options(options.tls);
  transport_options.beside_tls = load::carriers_beside_tls(options.tls);
  const Transports transports = make_transports(std::move(transport_options));
  ClientOptions with_token;
  if (Result<void> added = load::add_token(with_token, options.token); !added.ok()) return added.status();
  Clients clients;
  const bool apart = options.beside && options.beside->apart;
  for (unsigned i = 0; i < options.connections + (apart ? 1 : 0); ++i) {
    ClientOptions client_options = with_token;
    client_options.connect = options.connect;
    client_options.limits = generous_limits();
    clients.push_back(std::make_unique<Client>(**loop, std::move(client_options), transports));
  }
  return (*loop)->block_on(measure(options, **loop, clients));
}

}  // namespace weft::perf
