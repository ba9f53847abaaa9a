// SPDX-License-Identifier: Apache-2.0
// Counts the page faults and the processor time that a call costs the client's thread, by the size of its
// result and by the way in which the result is taken. Each cell is a process of its own, because a heap that
// has grown faults less. The faults need no quiet machine.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>
#include <weft/weft.hpp>

namespace {

std::string_view echo(std::string_view text) {
  return text;
}

enum class Way { kString, kInto, kView };

struct Work {
  weft::Client* client;
  Way way;
  const std::string* text;
  int calls;
};

weft::Task<void> call_again_and_again(const Work* work, std::string* value) {
  for (int i = 0; i < work->calls; ++i) {
    std::size_t size = 0;
    if (work->way == Way::kString) {
      auto answer = co_await work->client->call<echo>(*work->text);
      if (answer.ok()) size = answer->size();
    } else if (work->way == Way::kInto) {
      auto read = co_await work->client->call<echo>(*work->text).into(*value);
      if (read.ok()) size = value->size();
    } else {
      auto seen = co_await work->client->call<echo>(*work->text).view();
      if (seen.ok()) size = (*seen)->size();
    }
    if (size != work->text->size()) std::abort();
  }
}

struct Usage {
  double faults;
  double micros;
};

Usage usage_now() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  const auto micros = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_usec);
  };
  return {static_cast<double>(usage.ru_minflt), micros(usage.ru_utime) + micros(usage.ru_stime)};
}

void run(weft::Loop& loop, const Work& work, std::vector<std::string>& values) {
  std::vector<weft::Task<void>> callers;
  callers.reserve(values.size());
  for (std::string& value : values) callers.push_back(call_again_and_again(&work, &value));
  loop.block_on(weft::when_all(std::move(callers)));
}

void measure(std::size_t bytes, std::size_t in_flight, Way way) {
  weft::Server server{{.listen = {"tcp://127.0.0.1:0"}}};
  server.register_handler<echo>();
  server.start().value();
  weft::LoopOptions options;
  options.mode = weft::WaitMode::kWait;
  auto loop = weft::Loop::create(options).value();
  weft::Client client{*loop, {.connect = server.urls().front()}};
  const std::string text(bytes, 't');
  const int calls = static_cast<int>((std::size_t{64} << 20) / bytes / in_flight) + 1;
  const Work work{&client, way, &text, calls};
  std::vector<std::string> values(in_flight);
  run(*loop, work, values);
  const Usage before = usage_now();
  run(*loop, work, values);
  const Usage after = usage_now();
  const double count = static_cast<double>(calls) * static_cast<double>(in_flight);
  constexpr const char* kNames[] = {"string", "into", "view"};
  std::printf("%10zu %10zu %8s %12.3f %12.2f\n", bytes, in_flight, kNames[static_cast<int>(way)],
              (after.faults - before.faults) / count, (after.micros - before.micros) / count);
  std::fflush(stdout);
}

}  // namespace

int main() {
  std::printf("%10s %10s %8s %12s %12s\n", "bytes", "in flight", "taken", "faults/call", "us/call");
  std::fflush(stdout);
  for (const std::size_t bytes : {16u << 10, 32u << 10, 64u << 10, 256u << 10}) {
    for (const std::size_t in_flight : {1u, 16u, 64u}) {
      for (const Way way : {Way::kString, Way::kInto, Way::kView}) {
        const pid_t cell = ::fork();
        if (cell == 0) {
          measure(bytes, in_flight, way);
          return 0;
        }
        int outcome = 1;
        if (cell < 0 || ::waitpid(cell, &outcome, 0) != cell || outcome != 0) return 1;
      }
    }
  }
}
