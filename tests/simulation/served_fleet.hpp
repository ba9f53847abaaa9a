// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "fleet/station.hpp"
#include "load/histogram.hpp"
#include "weft/detail/coro/awaitable.hpp"
#include "weft/detail/coro/scope.hpp"
#include "weft/detail/fleet/fleet_client.hpp"
#include "weft/detail/runtime/sleep.hpp"
#include "weft/detail/transport/simulated_network.hpp"

namespace weft::simulation {

using namespace std::chrono_literals;

inline constexpr auto answer_again = idempotent<&fleet::Station::answer>;
inline constexpr auto work_again = idempotent<&fleet::Station::work>;

/// Calls of a ServedFleet, since it was made or since they were last taken.
struct Outcomes {
  std::uint64_t succeeded = 0;
  std::uint64_t failed = 0;
  std::uint64_t wrong = 0;
  /// Microseconds of those that succeeded.
  load::Histogram latencies;
  /// The first failure.
  Status failure;
};

/// Servers that all serve the same, and clients each of which calls all of them, on a simulated network and a
/// clock that stands still. Thread: one; its methods are called between turns of its loop.
class ServedFleet {
 public:
  /// `options_of(client)` gives the options of each client, but for name, seed and times, which are the
  /// plan's.
  template <typename OptionsOf>
  ServedFleet(const fleet::Plan& plan, OptionsOf options_of)
      : plan_(plan),
        loop_(Loop::create({.clock = &clock_, .seed = plan.seed}).value()),
        network_(*loop_, network_options(plan)),
        random_(plan.seed),
        plans_(plan.servers, plan) {
    std::string name = "static:";
    for (std::size_t i = 0; i < plan.servers; ++i) {
      SimulatedHost host = network_.host("server" + std::to_string(i));
      stations_.emplace_back(*loop_, plans_[i], std::move(host), executions_, logger_).serve();
      name += (i == 0 ? "" : ",") + stations_.back().url();
    }
    taken_.resize(plan.servers);
    for (std::size_t i = 0; i < plan.clients; ++i) {
      FleetOptions options = options_of(i);
      options.name = name;
      options.seed = plan.seed * 1000 + i + 1;
      options.naming.logger = &logger_;
      options.pool.client.logger = &logger_;
      options.pool.client.call_timeout = plan.call_timeout;
      options.pool.client.connect_timeout = plan.connect_timeout;
      options.pool.client.limits.ping_interval = plan.ping_interval;
      Transports transports;
      transports.add(network_.host("client" + std::to_string(i)).transport());
      clients_.push_back(std::make_unique<FleetClient>(*loop_, std::move(options), std::move(transports)));
    }
  }
  ~ServedFleet() { finish(); }
  ServedFleet(const ServedFleet&) = delete;
  ServedFleet& operator=(const ServedFleet&) = delete;

  /// Each client gets so many callers, who call one at a time and think in between, until finish().
  void call_on(std::size_t callers = 1) {
    loop_->post([this, callers] {
      for (std::size_t i = 0; i < clients_.size() * callers; ++i) {
        scope_.spawn(&ServedFleet::call_again_and_again, this, i % clients_.size());
      }
    });
  }
  void pass(Duration time) {
    const TimePoint end = clock_.now() + time;
    loop_->run_until_idle();
    while (true) {
      const auto next = loop_->next_timer();
      clock_.set(std::max(clock_.now(), next ? std::min(*next, end) : end));
      loop_->run_until_idle();
      if (!next || *next > end) return;
    }
  }
  /// Ends all calls and clients. Each call has ended then.
  void finish() {
    if (clients_.empty()) return;
    scope_.cancel(CancelReason::kRequested);
    loop_->run_until_idle();
    for (const auto& client : clients_) client->close();
    pass(1s);
    clients_.clear();
    for (fleet::Station& station : stations_) station.clear();
    pass(1s);
  }

  /// The plan of one server, whose `work` may change at any time.
  fleet::Plan& plan(std::size_t server) { return plans_[server]; }
  fleet::Station& station(std::size_t index) { return stations_[index]; }
  std::size_t stations() const { return stations_.size(); }
  /// Returns what became of the calls that ended since the last time.
  Outcomes take_outcomes() { return std::exchange(outcomes_, {}); }
  /// Returns the requests that each server took since the last time.
  std::vector<std::uint64_t> take_requests() {
    std::vector<std::uint64_t> requests;
    for (std::size_t i = 0; i < stations_.size(); ++i) {
      const std::uint64_t now = stations_[i].stats().calls;
      requests.push_back(now - std::exchange(taken_[i], now));
    }
    return requests;
  }
  FleetStats stats() const {
    FleetStats sum;
    for (const auto& client : clients_) {
      const FleetStats one = client->stats();
      sum.ready += one.ready;
      sum.ejected += one.ejected;
      sum.calls_in_flight += one.calls_in_flight;
      sum.calls += one.calls;
      sum.attempts += one.attempts;
      sum.retries += one.retries;
      sum.retries_refused += one.retries_refused;
      sum.backups += one.backups;
    }
    return sum;
  }
  std::uint64_t trace() const { return network_.stats().trace_hash; }
  Duration elapsed() { return clock_.now() - begun_at_; }
  /// Numbers for what a scenario chooses.
  std::mt19937_64& random() { return random_; }

 private:
  class Quiet final : public Logger {
   public:
    void write(LogLevel, std::string_view) override {}
  };

  static SimulatedNetworkOptions network_options(const fleet::Plan& plan) {
    SimulatedNetworkOptions options;
    options.seed = plan.seed;
    options.outgoing = options.incoming = plan.link;
    return options;
  }

  static Task<void> call_again_and_again(ServedFleet* world, std::size_t index) {
    FleetClient& client = *world->clients_[index];
    const double mean = std::chrono::duration<double, std::nano>(world->plan_.think).count();
    std::exponential_distribution<double> thinking{1 / std::max(mean, 1.0)};
    while (true) {
      auto thought = sleep_for(Duration{static_cast<Duration::rep>(thinking(world->random_))});
      Result<void> slept = co_await thought;
      if (!slept.ok()) co_return;
      const std::uint64_t number = world->number_++;
      const TimePoint began = world->clock_.now();
      Task<Result<std::uint64_t>> call = world->plan_.work > Duration::zero()
                                             ? detail::own(client.call<work_again>(number))
                                             : detail::own(client.call<answer_again>(number));
      Result<std::uint64_t> result = co_await std::move(call);
      if (world->scope_.cancelled()) co_return;
      world->note(number, began, result);
    }
  }
  void note(std::uint64_t number, TimePoint began, const Result<std::uint64_t>& result) {
    if (!result.ok()) {
      if (outcomes_.failed++ == 0) outcomes_.failure = result.status();
      return;
    }
    ++outcomes_.succeeded;
    outcomes_.wrong += static_cast<std::uint64_t>(*result != number || executions_.times(number) == 0);
    outcomes_.latencies.record(static_cast<std::uint64_t>((clock_.now() - began) / 1us));
  }

  const fleet::Plan plan_;
  ManualClock clock_;
  const TimePoint begun_at_ = clock_.now();
  Quiet logger_;
  std::unique_ptr<Loop> loop_;
  SimulatedNetwork network_;
  std::mt19937_64 random_;
  fleet::Executions executions_;
  std::deque<fleet::Plan> plans_;
  std::deque<fleet::Station> stations_;
  std::vector<std::uint64_t> taken_;
  std::vector<std::unique_ptr<FleetClient>> clients_;
  std::uint64_t number_ = 0;
  Outcomes outcomes_;
  Scope scope_;
};

}  // namespace weft::simulation
