// SPDX-License-Identifier: Apache-2.0
// Floods one loop of a server with small calls of 128 connections, and says in real time how long a lone
// caller waits beside them and how late the loop's timers are; each round beside one without the flood.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>
#include <weft/weft.hpp>

#include "load/histogram.hpp"

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr int kConnections = 128;
constexpr int kCallsInFlight = 32;
constexpr auto kRound = 2s;

/// Lateness of the server's timers since it was last asked, and of its calls.
struct Lateness {
  weft::load::Histogram late_ns;
  /// The same without the time for which the thread wanted to run and the system ran others.
  weft::load::Histogram own_ns;
  std::uint64_t later = 0;  ///< of these more than 5 ms
  std::uint64_t floods = 0;
};

Lateness& lateness() {
  static Lateness all;
  return all;
}

std::uint64_t flood(std::uint64_t number) {
  ++lateness().floods;
  return number;
}

std::uint64_t ask(std::uint64_t number) {
  return number;
}

/// Nanoseconds for which this thread has waited for a processor: one read of a file that stays open.
std::int64_t waited_ns() {
  static const int file = ::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  std::array<char, 100> text{};
  unsigned long long ran = 0;
  unsigned long long waited = 0;
  if (::pread(file, text.data(), text.size() - 1, 0) <= 0) return 0;
  std::sscanf(text.data(), "%llu %llu", &ran, &waited);
  return static_cast<std::int64_t>(waited);
}

double quantile_ms(const weft::load::Histogram& values, double share) {
  if (values.total() == 0) return -1;
  return static_cast<double>(share < 1 ? values.value_at(share) : values.max()) / 1e6;
}

std::vector<double> take_figures() {
  const Lateness all = std::exchange(lateness(), {});
  return {static_cast<double>(all.floods), quantile_ms(all.late_ns, 0.5), quantile_ms(all.late_ns, 0.99),
          quantile_ms(all.late_ns, 1),     quantile_ms(all.own_ns, 0.99), quantile_ms(all.own_ns, 1),
          static_cast<double>(all.later)};
}

weft::Task<void> beat() {
  for (;;) {
    const std::int64_t waited = waited_ns();
    const auto due = Clock::now() + 1ms;
    const auto slept = co_await weft::sleep_for(1ms);
    if (!slept.ok()) co_return;  // the round is over
    const std::int64_t late = std::max<std::int64_t>((Clock::now() - due).count(), 0);
    const std::int64_t own = std::max<std::int64_t>(late - (waited_ns() - waited), 0);
    lateness().late_ns.record(static_cast<std::uint64_t>(late));
    lateness().own_ns.record(static_cast<std::uint64_t>(own));
    if (own > 5'000'000) ++lateness().later;
  }
}

[[noreturn]] void serve(int out) {
  const auto loop = weft::Loop::create().value();
  weft::Server server{{.listen = {"tcp://127.0.0.1:0"}, .threads = 0, .loop = loop.get()}};
  server.register_handler<flood, ask, take_figures>();
  server.start().value();
  const std::string url = server.urls().front();
  if (::write(out, url.data(), url.size()) < 0) std::_Exit(1);
  loop->block_on(beat());
  std::_Exit(0);
}

weft::Task<void> call_for_ever(weft::Client* client) {
  for (std::uint64_t i = 0;; ++i) {
    const auto answer = co_await client->call<flood>(i);
    if (!answer.ok()) std::_Exit(1);
  }
}

weft::Task<void> joined(weft::Scope* scope) {
  co_await scope->join();
}

/// Floods until it is killed; writes a byte once all connections are there.
[[noreturn]] void flood_server(const std::string& url, int out) {
  const auto loop = weft::Loop::create().value();
  std::vector<std::unique_ptr<weft::Client>> clients;
  for (int i = 0; i < kConnections; ++i) {
    clients.push_back(std::make_unique<weft::Client>(*loop, weft::ClientOptions{.connect = url}));
    if (!loop->block_on(clients.back()->connect()).ok()) std::_Exit(1);
  }
  if (::write(out, "!", 1) != 1) std::_Exit(1);
  weft::Scope scope;
  for (auto& client : clients) {
    for (int i = 0; i < kCallsInFlight; ++i) scope.spawn(&call_for_ever, client.get());
  }
  loop->block_on(joined(&scope));
  std::_Exit(0);
}

template <typename Work>
std::pair<pid_t, std::string> begin(Work work) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) std::exit(1);
  const pid_t child = ::fork();
  if (child == 0) work(ends[1]);
  ::close(ends[1]);
  std::array<char, 100> text{};
  const ssize_t got = ::read(ends[0], text.data(), text.size());
  ::close(ends[0]);
  if (got <= 0) std::exit(1);
  return {child, std::string{text.data(), static_cast<std::size_t>(got)}};
}

void end(pid_t child) {
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

/// Calls one after the other, a millisecond apart.
weft::Task<weft::load::Histogram> ask_alone(weft::Client& client) {
  weft::load::Histogram took;
  for (const auto until = Clock::now() + kRound; Clock::now() < until;) {
    const auto began = Clock::now();
    const auto answer = co_await client.call<ask>(std::uint64_t{1});
    if (!answer.ok()) std::exit(1);
    took.record(static_cast<std::uint64_t>((Clock::now() - began).count()));
    const auto slept = co_await weft::sleep_for(1ms);
    if (!slept.ok()) break;
  }
  co_return took;
}

void run_round(weft::Loop& loop, weft::Client& client, const char* name) {
  if (!loop.block_on(client.call<take_figures>()).ok()) std::exit(1);
  const weft::load::Histogram took = loop.block_on(ask_alone(client));
  const auto figures = loop.block_on(client.call<take_figures>());
  if (!figures.ok()) std::exit(1);
  const std::vector<double>& all = *figures;
  std::printf("%-6s %9.0f %8.2f %8.2f %8.2f %8.2f %8.2f %8.2f %8.2f %8.0f\n", name, all[0] / 2,
              quantile_ms(took, 0.5), quantile_ms(took, 0.99), all[1], all[2], all[3], all[4], all[5],
              all[6]);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 5;
  const auto [server, url] = begin([](int out) { serve(out); });
  const auto loop = weft::Loop::create().value();
  weft::Client client{*loop, {.connect = url}};
  std::printf("milliseconds; \"own\" is without what the server's thread waited for a processor\n");
  std::printf("%-6s %9s %8s %8s %8s %8s %8s %8s %8s %8s\n", "", "calls/s", "lone p50", "p99", "late p50",
              "p99", "worst", "own p99", "worst", "own > 5");
  for (int round = 0; round < rounds; ++round) {
    run_round(*loop, client, "quiet");
    const auto flooder = begin([&](int out) { flood_server(url, out); }).first;
    run_round(*loop, client, "flood");
    end(flooder);
  }
  end(server);
  return 0;
}
