// SPDX-License-Identifier: Apache-2.0
// Calls through a pool beside those of bare clients, in rounds that take turns: 256 in flight on one thread,
// by a client, a pool of one connection and a pool as it is by default; and blocking calls of eight threads
// that share a pool, beside those of eight threads with a client each. Each line gives the median of its
// rounds, and of their ratios to the first line's of the same round; so does the processor time of the whole
// process, both sides of it, which other processes disturb less. The server is on processor 0, the loops
// that call on processor 1; threads that block are where the system puts them.
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>
#include <weft/weft.hpp>

namespace {

constexpr int kRounds = 15;
constexpr int kInFlight = 256;
constexpr int kCallsOfEach = 400;
constexpr int kThreads = 8;
constexpr int kCallsOfThread = 1'000;

std::string_view same(std::string_view text) {
  return text;
}

void must(bool right) {
  if (right) return;
  std::fprintf(stderr, "a call failed\n");
  std::abort();
}

/// Threads that are started from here on are there too.
void stay_on(unsigned processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (unsigned each = 0; each < 64; ++each) {
    if (each == processor || processor == ~0u) CPU_SET(each, &set);
  }
  static_cast<void>(::sched_setaffinity(0, sizeof set, &set));
}

template <typename Calls>
weft::Task<int> call_often(Calls& calls, std::string_view text) {
  for (int i = 0; i < kCallsOfEach; ++i) {
    const auto answer = co_await calls.template call<same>(text);
    must(answer.ok());
  }
  co_return 0;
}

template <typename Calls>
void keep_in_flight(weft::Loop& loop, Calls& calls, std::string_view text) {
  std::vector<weft::Task<int>> all;
  all.reserve(kInFlight);
  for (int i = 0; i < kInFlight; ++i) all.push_back(call_often(calls, text));
  loop.block_on(weft::when_all(std::move(all)));
}

template <typename Work>
void on_threads(const Work& work) {
  std::vector<std::jthread> threads;
  threads.reserve(kThreads);
  for (int t = 0; t < kThreads; ++t) threads.emplace_back([&work, t] { work(static_cast<std::size_t>(t)); });
}

template <typename Calls>
void call_from_thread(Calls&& calls, std::string_view text) {
  for (int i = 0; i < kCallsOfThread; ++i) must(calls.template call<same>(text).ok());
}

struct Measured {
  std::string name;
  weft::detail::UniqueFunction<void()> round;
  int calls;
  std::vector<double> rates{};
  std::vector<double> processor_us{};
};

double processor_seconds() {
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void compare(std::vector<Measured> all) {
  for (int round = -1; round < kRounds; ++round) {  // the first warms up
    for (Measured& its : all) {
      const auto begun = std::chrono::steady_clock::now();
      const double used = processor_seconds();
      its.round();
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
      if (round < 0) continue;
      its.rates.push_back(its.calls / took.count());
      its.processor_us.push_back((processor_seconds() - used) * 1e6 / its.calls);
    }
  }
  for (const Measured& its : all) {
    std::vector<double> ratios;
    std::vector<double> processor_ratios;
    for (std::size_t i = 0; i < its.rates.size(); ++i) {
      ratios.push_back(its.rates[i] / all[0].rates[i]);
      processor_ratios.push_back(its.processor_us[i] / all[0].processor_us[i]);
    }
    const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
    std::printf("%-42s %8.0f calls/s, %.2f of the first's (%.2f to %.2f); %5.2f us of a processor, %.2f\n",
                its.name.c_str(), median(its.rates), median(ratios), *least, *most, median(its.processor_us),
                median(processor_ratios));
  }
}

}  // namespace

int main() {
  const std::string text(128, 'x');
  stay_on(0);
  weft::Server server{{.listen = {"tcp://127.0.0.1:0"}, .threads = 1}};
  server.register_handler<same>();
  server.start().value();
  const std::string url = server.urls().front();

  stay_on(1);
  auto loop = weft::Loop::create().value();
  weft::Client client{*loop, {.connect = url}};
  weft::PoolOptions options;
  options.client.connect = url;
  weft::ConnectionPool pool{*loop, options};
  options.calls_per_connection = kInFlight;
  weft::ConnectionPool pool_of_one{*loop, options};
  std::vector<Measured> in_flight;
  constexpr int kCalls = kInFlight * kCallsOfEach;
  in_flight.push_back({"256 in flight, a client", [&] { keep_in_flight(*loop, client, text); }, kCalls});
  in_flight.push_back({"256 in flight, a pool with one connection",
                       [&] { keep_in_flight(*loop, pool_of_one, text); }, kCalls});
  in_flight.push_back({"256 in flight, a pool", [&] { keep_in_flight(*loop, pool, text); }, kCalls});
  compare(std::move(in_flight));

  auto thread = weft::LoopThread::start().value();
  stay_on(~0u);
  options.calls_per_connection = 0;
  weft::ConnectionPool shared{thread->loop(), options};
  std::vector<std::unique_ptr<weft::BlockingClient>> each;
  each.reserve(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    each.push_back(std::make_unique<weft::BlockingClient>(weft::ClientOptions{.connect = url}));
  }
  std::vector<Measured> threads;
  threads.push_back({"8 threads that block, a client each",
                     [&] { on_threads([&](std::size_t t) { call_from_thread(*each[t], text); }); },
                     kThreads * kCallsOfThread});
  threads.push_back(
      {"8 threads that block, one pool",
       [&] { on_threads([&](std::size_t) { call_from_thread(weft::blocking(shared), text); }); },
       kThreads * kCallsOfThread});
  compare(std::move(threads));
  thread->stop();
  return 0;
}
