// SPDX-License-Identifier: Apache-2.0
// Many clients whose one server, a process of its own, is killed and started again: how soon are all of them
// back, and how many of them come at once?
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <latch>
#include <memory>
#include <thread>
#include <vector>
#include <weft/weft.hpp>

#include "churn/churn_load.hpp"
#include "churn/server_process.hpp"

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

struct Crowd {
  std::vector<std::unique_ptr<weft::Client>> clients;
  /// Times at which each of them was answered for the first time since the server is back.
  std::vector<Clock::time_point> back;
  std::size_t answered = 0;
};

/// Calls until it is answered once.
weft::Task<void> call_until_answered(Crowd* crowd, std::size_t index) {
  while (true) {
    auto call = crowd->clients[index]->call<weft::churn::twice>(1u);
    const weft::Result<std::uint32_t> answer = co_await std::move(call);
    if (answer.ok()) break;
    // The client itself waits before it connects again; this only keeps a failure that comes at once from
    // holding the loop.
    auto pause = weft::sleep_for(1ms);
    static_cast<void>(co_await pause);
  }
  crowd->back[index] = Clock::now();
  ++crowd->answered;
}

/// All of them call, and wait until all were answered.
void call_all(weft::Loop& loop, Crowd& crowd) {
  crowd.answered = 0;
  weft::Scope scope;
  loop.post([&] {
    for (std::size_t i = 0; i < crowd.clients.size(); ++i) scope.spawn(&call_until_answered, &crowd, i);
  });
  while (crowd.answered < crowd.clients.size()) loop.run_once(10ms);
}

int run(std::size_t count, std::chrono::milliseconds down) {
  weft::churn::ServerProcess server;
  if (!server.blocking_start()) return 2;
  auto loop = weft::Loop::create({.mode = weft::WaitMode::kWait}).value();
  Crowd crowd;
  crowd.back.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    crowd.clients.push_back(
        std::make_unique<weft::Client>(*loop, weft::ClientOptions{.connect = server.url()}));
  }
  call_all(*loop, crowd);
  std::printf("%zu clients are connected\n", count);
  server.kill();
  Clock::time_point restarted;
  bool came_up = true;
  std::latch ended{1};
  // It comes back while the clients try to call.
  std::jthread restart{[&] {
    std::this_thread::sleep_for(down);
    came_up = server.blocking_start();
    restarted = Clock::now();
    ended.wait();  // servers end with the thread that started them
  }};
  call_all(*loop, crowd);
  std::sort(crowd.back.begin(), crowd.back.end());
  std::size_t most = 0;
  for (std::size_t first = 0, last = 0; last < count; ++last) {
    while (crowd.back[last] - crowd.back[first] > 10ms) ++first;
    most = std::max(most, last - first + 1);
  }
  const std::chrono::duration<double> half = crowd.back[count / 2] - restarted;
  const std::chrono::duration<double> all = crowd.back.back() - restarted;
  std::printf("half of them are back after %.2f s, all after %.2f s; at most %zu within 10 ms\n",
              half.count(), all.count(), most);
  crowd.clients.clear();
  ended.count_down();
  restart.join();
  return came_up && all < 30s ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--serve") == 0) return weft::churn::blocking_serve(argv[2]);
  std::size_t count = 10'000;
  int down_ms = 2000;
  CLI::App app{"Clients that come back to a server that was killed and started again"};
  app.add_option("--clients", count, "clients, each with a descriptor here and one in the server")
      ->check(CLI::PositiveNumber);
  app.add_option("--down-ms", down_ms, "milliseconds until the server is started again")
      ->check(CLI::NonNegativeNumber);
  CLI11_PARSE(app, argc, argv);
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  return run(count, std::chrono::milliseconds{down_ms});
}
