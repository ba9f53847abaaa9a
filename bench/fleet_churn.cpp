// SPDX-License-Identifier: Apache-2.0
// A fleet of servers in processes of their own, of which one is killed every two seconds and started again,
// while idempotent calls are made at a steady rate: does one fail, and how much longer do they take than
// while nobody is killed? Both are measured in turn, in one run.
//
// With --kills it takes no times and needs none: so many servers are killed one after the other, each after a
// number of calls. A test runs that.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <deque>
#include <latch>
#include <string>
#include <thread>
#include <utility>
#include <weft/weft.hpp>

#include "churn/churn_load.hpp"
#include "churn/server_process.hpp"

namespace {

using namespace std::chrono_literals;
using Seconds = std::chrono::duration<double>;
using weft::churn::ChurnLoad;
using weft::churn::Outcomes;
using weft::churn::ServerProcess;

enum Kind : std::size_t { kWarmUp, kCalm, kChurn, kKinds };

struct Plan {
  std::size_t servers = 16;
  double rate = 10'000;
  double seconds = 20;
  std::size_t rounds = 3;
  double kill_seconds = 2;
  double down_seconds = 0.5;
  bool drains = false;
  double backup_ms = 0;
  std::size_t kills = 0;
  std::size_t callers = 16;
  std::uint64_t calls_between = 300;
};

void take_away(ServerProcess& server, const Plan& plan) {
  plan.drains ? server.blocking_leave() : server.kill();
}

/// Lets time pass with all servers, and then while one goes every few seconds, again and again.
bool run_by_time(std::deque<ServerProcess>& servers, ChurnLoad& load, const Plan& plan) {
  std::size_t next = 0;
  std::this_thread::sleep_for(2s);
  for (std::size_t round = 0; round < plan.rounds; ++round) {
    load.set_kind(kCalm);
    std::this_thread::sleep_for(Seconds{plan.seconds});
    load.set_kind(kChurn);
    auto goes_at = std::chrono::steady_clock::now();
    for (double passed = 0; passed < plan.seconds; passed += plan.kill_seconds) {
      ServerProcess& server = servers[next++ % servers.size()];
      take_away(server, plan);
      std::this_thread::sleep_for(Seconds{plan.down_seconds});
      if (!server.blocking_start()) return false;
      goes_at += std::chrono::duration_cast<std::chrono::nanoseconds>(Seconds{plan.kill_seconds});
      std::this_thread::sleep_until(goes_at);
    }
  }
  return true;
}

bool run_by_calls(std::deque<ServerProcess>& servers, ChurnLoad& load, const Plan& plan) {
  load.blocking_wait_for(plan.calls_between);
  load.set_kind(kChurn);
  for (std::size_t i = 0; i < plan.kills; ++i) {
    ServerProcess& server = servers[i % servers.size()];
    take_away(server, plan);
    load.blocking_wait_for(plan.calls_between);
    if (!server.blocking_start()) return false;
    load.blocking_wait_for(plan.calls_between);
  }
  return true;
}

weft::Task<void> drive(ChurnLoad* load, const Plan* plan) {
  plan->kills != 0 ? load->call_by(plan->callers) : load->call_at(plan->rate);
  weft::Task<void> joined = load->join();
  co_await std::move(joined);
}

double microseconds(const Outcomes& outcomes, double quantile) {
  return static_cast<double>(outcomes.latencies.value_at(quantile)) / 1000;
}

void print(const char* name, const Outcomes& outcomes) {
  std::printf("%-12s %10llu calls, %llu failed; p50 %.0f us, p99 %.0f us, p99.9 %.0f us, longest %.1f ms\n",
              name, static_cast<unsigned long long>(outcomes.begun),
              static_cast<unsigned long long>(outcomes.failed), microseconds(outcomes, 0.5),
              microseconds(outcomes, 0.99), microseconds(outcomes, 0.999),
              static_cast<double>(outcomes.latencies.max()) / 1e6);
  if (outcomes.failed != 0) std::printf("  the first failure: %s\n", outcomes.failure.c_str());
}

bool report(const ChurnLoad& load, const weft::FleetStats& stats, const Plan& plan) {
  const Outcomes& calm = load.outcomes(kCalm);
  const Outcomes& churn = load.outcomes(kChurn);
  const std::uint64_t failed = load.outcomes(kWarmUp).failed + calm.failed + churn.failed;
  std::printf(
      "%llu attempts, %llu of them again; %llu refused by the budget; %llu backups, %llu of them first\n",
      static_cast<unsigned long long>(stats.attempts), static_cast<unsigned long long>(stats.retries),
      static_cast<unsigned long long>(stats.retries_refused), static_cast<unsigned long long>(stats.backups),
      static_cast<unsigned long long>(stats.backups_won));
  if (plan.kills != 0) {
    std::printf("%llu calls, %llu failed\n", static_cast<unsigned long long>(churn.begun),
                static_cast<unsigned long long>(failed));
    if (churn.failed != 0) std::printf("  the first failure: %s\n", churn.failure.c_str());
    return failed == 0;
  }
  print("undisturbed", calm);
  print(plan.drains ? "leaving" : "killed", churn);
  const double ratio = microseconds(churn, 0.99) / std::max(microseconds(calm, 0.99), 1e-9);
  std::printf("p99 %.2f times the undisturbed one, %s\n", ratio,
              ratio < 2 ? "under twice" : "NOT under twice");
  return failed == 0 && ratio < 2;
}

int run(const Plan& plan) {
  std::deque<ServerProcess> servers(plan.servers);
  weft::FleetOptions options;
  options.name = "static:";
  for (ServerProcess& server : servers) {
    if (!server.blocking_start()) return 2;
    options.name += (&server == &servers.front() ? "" : ",") + server.url();
  }
  options.backup_after = std::chrono::duration_cast<weft::Duration>(Seconds{plan.backup_ms / 1000});
  auto loop = weft::Loop::create({.mode = weft::WaitMode::kWait}).value();
  weft::FleetClient fleet{*loop, std::move(options)};
  ChurnLoad load{fleet, kKinds};
  bool came_up = true;
  std::latch calls_ended{1};
  std::thread supervisor{[&] {
    came_up = plan.kills != 0 ? run_by_calls(servers, load, plan) : run_by_time(servers, load, plan);
    load.stop();
    calls_ended.wait();  // servers end with the thread that started them
  }};
  loop->block_on(drive(&load, &plan));
  calls_ended.count_down();
  supervisor.join();
  if (!came_up) std::fprintf(stderr, "a server did not come up again\n");
  const bool holds = report(load, fleet.stats(), plan);
  return holds && came_up ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--serve") == 0) return weft::churn::blocking_serve(argv[2]);
  Plan plan;
  CLI::App app{"Servers that are killed and started again under a fleet's calls"};
  app.add_option("--servers", plan.servers, "server processes")->check(CLI::Range(2, 1000));
  app.add_option("--rate", plan.rate, "calls a second")->check(CLI::PositiveNumber);
  app.add_option("--seconds", plan.seconds, "seconds of each part, undisturbed and not")
      ->check(CLI::PositiveNumber);
  app.add_option("--rounds", plan.rounds, "how often both parts are measured")->check(CLI::PositiveNumber);
  app.add_option("--every", plan.kill_seconds, "seconds between two kills")->check(CLI::PositiveNumber);
  app.add_option("--down", plan.down_seconds, "seconds until a server is started again")
      ->check(CLI::NonNegativeNumber);
  app.add_flag("--drain", plan.drains, "servers leave (SIGTERM) and are not killed");
  app.add_option("--backup-ms", plan.backup_ms, "FleetOptions::backup_after in milliseconds; 0: none")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--kills", plan.kills, "take no times: kill so many, each after so many calls");
  app.add_option("--callers", plan.callers, "with --kills: callers at once")->check(CLI::PositiveNumber);
  app.add_option("--calls-between", plan.calls_between, "with --kills: calls between them")
      ->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  return run(plan);
}
