// SPDX-License-Identifier: Apache-2.0
// Runs a fleet on a virtual clock, with servers that crash and come back, and says what a client costs in
// memory and a virtual second in time.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>

#include "fleet/fleet.hpp"
#include "load/progress.hpp"

namespace {

using namespace std::chrono_literals;
using Seconds = std::chrono::duration<double>;

double resident_bytes() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with("VmRSS:")) return std::atof(line.c_str() + 6) * 1024;
  }
  return 0;
}

/// Time that the core has spent on this process: others on the machine do not count.
double cpu_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

}  // namespace

int main(int argc, char** argv) {
  weft::fleet::Plan plan{.servers = 1000, .clients = 100'000};
  double hours = 0.05;
  double think_seconds = 10;
  double crash_seconds = 10;
  double ping_seconds = 10;
  CLI::App app{"A fleet of servers and clients on a virtual clock"};
  app.add_option("--servers", plan.servers, "servers")->check(CLI::PositiveNumber);
  app.add_option("--clients", plan.clients, "clients, evenly spread over the servers")
      ->check(CLI::PositiveNumber);
  app.add_option("--hours", hours, "virtual hours")->check(CLI::PositiveNumber);
  app.add_option("--seed", plan.seed, "beginning of all random numbers");
  app.add_option("--think", think_seconds, "mean seconds between the calls of a client")
      ->check(CLI::PositiveNumber);
  app.add_option("--crash-every", crash_seconds, "seconds between crashes of servers, each for 5 s; 0: none")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--ping", ping_seconds, "seconds between pings of silent peers; 0: none")
      ->check(CLI::NonNegativeNumber);
  CLI11_PARSE(app, argc, argv);
  const auto of_seconds = [](double seconds) {
    return std::chrono::duration_cast<weft::Duration>(Seconds{seconds});
  };
  plan.think = of_seconds(think_seconds);
  plan.ping_interval = of_seconds(ping_seconds);

  const double before = resident_bytes();
  const double begin = cpu_seconds();
  weft::fleet::Fleet fleet{plan};
  const double made = resident_bytes();
  const double making = cpu_seconds() - begin;
  fleet.call_on();
  const double connecting_begin = cpu_seconds();
  fleet.pass(of_seconds(3 * think_seconds));
  const double connecting = cpu_seconds() - connecting_begin;
  const double connected_bytes = resident_bytes();
  const std::size_t connected = fleet.connected();

  const double virtual_seconds = hours * 3600;
  const std::uint64_t calls_before = fleet.totals().ended;
  const std::uint64_t events_before = fleet.network().stats().events;
  const double running_begin = cpu_seconds();
  const weft::Duration start = fleet.elapsed();
  {
    weft::load::Progress progress{virtual_seconds};
    double next_crash = crash_seconds;
    double up_at = -1;
    std::size_t down = 0;
    for (double at = 0; at < virtual_seconds; at = Seconds{fleet.elapsed() - start}.count()) {
      fleet.pass(of_seconds(std::min(1.0, virtual_seconds - at)));
      if (up_at >= 0 && at >= up_at) {
        fleet.station(down).serve();
        up_at = -1;
      }
      if (crash_seconds > 0 && at >= next_crash && up_at < 0) {
        down = fleet.random()() % fleet.stations();
        fleet.station(down).crash();
        up_at = at + 5;
        next_crash = at + crash_seconds;
      }
      progress.note(static_cast<std::int64_t>(at * 1e9), fleet.totals().ended,
                    fleet.totals().ended - fleet.totals().succeeded);
    }
  }
  const double running = cpu_seconds() - running_begin;
  const double calls = static_cast<double>(fleet.totals().ended - calls_before);
  const double events = static_cast<double>(fleet.network().stats().events - events_before);
  const std::string wrong = fleet.finish();
  const weft::fleet::Totals& totals = fleet.totals();
  const double clients = static_cast<double>(plan.clients);
  std::printf("servers %zu, clients %zu, seed %llu\n", plan.servers, plan.clients,
              static_cast<unsigned long long>(plan.seed));
  std::printf("%-44s %12.2f s\n", "making them", making);
  std::printf("%-44s %12.2f s, %zu connected\n", "connecting, first calls", connecting, connected);
  std::printf("%-44s %12.0f bytes\n", "resident for each client, made", (made - before) / clients);
  std::printf("%-44s %12.0f bytes\n", "both ends of a connection and its caller",
              (connected_bytes - made) / clients);
  std::printf("%-44s %12.0f MB\n", "resident", connected_bytes / 1e6);
  std::printf("%-44s %12.0f s\n", "virtual time", virtual_seconds);
  std::printf("%-44s %12.2f s, %.1f ms for a virtual second\n", "time of a core", running,
              1000 * running / virtual_seconds);
  std::printf("%-44s %12.0f, %.2f us each\n", "calls", calls, calls > 0 ? 1e6 * running / calls : 0);
  std::printf("%-44s %12.0f\n", "events of the network", events);
  std::printf("%-44s %12llu\n", "calls that succeeded", static_cast<unsigned long long>(totals.succeeded));
  std::printf("%-44s %12llu unavailable, %llu late, %llu refused, %llu other\n", "calls that failed",
              static_cast<unsigned long long>(totals.unavailable),
              static_cast<unsigned long long>(totals.deadline_exceeded),
              static_cast<unsigned long long>(totals.refused), static_cast<unsigned long long>(totals.other));
  std::printf("%-44s %12llu us p50, %llu us p99\n", "latency",
              static_cast<unsigned long long>(fleet.latencies().value_at(0.5)),
              static_cast<unsigned long long>(fleet.latencies().value_at(0.99)));
  std::printf("%-44s %016llx\n", "trace",
              static_cast<unsigned long long>(fleet.network().stats().trace_hash));
  if (wrong.empty()) return 0;
  std::printf("\nThese do not hold:\n%s", wrong.c_str());
  return 1;
}
