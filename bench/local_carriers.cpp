// SPDX-License-Identifier: Apache-2.0
// Carriers between two processes of one machine, measured in turns: TCP, a Unix socket, and shared memory.
//
//   local_carriers [rounds [cpu of the server, cpu of the client]]
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>
#include <weft/weft.hpp>

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kEchoBytes = 128;
constexpr int kCalls = 5000;
constexpr int kInFlight = 256;
constexpr std::size_t kLarge = std::size_t{1} << 20;
constexpr int kLargeCalls = 200;

std::string echo(std::string_view text) {
  return std::string{text};
}
std::uint64_t take(weft::CallContext& context) {
  return context.attachment().size();
}

void pin(int cpu) {
  if (cpu < 0) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  ::sched_setaffinity(0, sizeof set, &set);
}

weft::TransportOptions transports(bool memory) {
  weft::TransportOptions options;
  if (memory) {
    options.shared_memory.listening = options.shared_memory.connecting = weft::CarrierPolicy::kPrefer;
  }
  return options;
}

std::string text_of(std::string_view carrier, const std::string& directory) {
  return "unix://" + directory + "/" + std::string{carrier};
}

/// Serves until it is killed. Writes the URL of its TCP port and a line end to `ready`.
void serve(const std::string& directory, weft::WaitMode mode, int ready) {
  auto loop = weft::Loop::create({.mode = mode}).value();
  const auto make = [&](const std::string& url, bool memory) {
    weft::ServerOptions options;
    options.listen = {url};
    options.threads = 0;
    options.loop = loop.get();
    auto server = std::make_unique<weft::Server>(std::move(options), transports(memory));
    server->register_handler<echo, take>();
    server->start().value();
    return server;
  };
  const auto plain = make(text_of("socket", directory), false);
  const auto memory = make(text_of("memory", directory), true);
  const auto tcp = make("tcp://127.0.0.1:0", false);
  const std::string line = tcp->urls().front() + "\n";
  if (::write(ready, line.data(), line.size()) > 0) loop->run();
}

struct Row {
  std::string name;
  std::vector<double> single_us{};
  std::vector<double> calls_per_s{};
  std::vector<double> gigabytes_per_s{};
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values.empty() ? 0 : values[values.size() / 2];
}

weft::Task<void> call_one_by_one(weft::Client* client, int calls) {
  const std::string text(kEchoBytes, 'x');
  for (int i = 0; i < calls; ++i) {
    auto answer = co_await client->call<echo>(text);
    if (!answer.ok()) std::abort();
  }
}

template <typename Work>
double seconds(Work work) {
  const auto begin = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

weft::Task<void> call_many(weft::Client* client) {
  weft::Scope scope;
  for (int i = 0; i < kInFlight; ++i) scope.spawn(&call_one_by_one, client, 4 * kCalls / kInFlight);
  co_await scope.join();
}

weft::Task<void> send_large(weft::Client* client, const std::vector<std::byte>* bytes) {
  for (int i = 0; i < kLargeCalls; ++i) {
    const weft::CallOptions options{.attachment = weft::Bytes{*bytes}};
    auto answer = co_await client->call<take>(options);
    if (!answer.ok()) std::abort();
  }
}

void measure(Row& row, weft::Loop& loop, const std::string& url, bool memory) {
  static const std::vector<std::byte> bytes(kLarge);
  weft::Client client{loop, {.connect = url}, transports(memory)};
  loop.block_on(call_one_by_one(&client, 100));
  row.name = client.carried_by();
  row.single_us.push_back(seconds([&] { loop.block_on(call_one_by_one(&client, kCalls)); }) * 1e6 / kCalls);
  row.calls_per_s.push_back(4 * kCalls / seconds([&] { loop.block_on(call_many(&client)); }));
  row.gigabytes_per_s.push_back(kLargeCalls * double(kLarge) / 1e9 /
                                seconds([&] { loop.block_on(send_large(&client, &bytes)); }));
}

void measure_mode(const char* what, weft::WaitMode mode, int rounds, int server_cpu, int client_cpu) {
  char name[] = "/tmp/weft-local-XXXXXX";
  const std::string directory = ::mkdtemp(name);
  int ready[2];
  if (::pipe(ready) != 0) return;
  const pid_t server = ::fork();
  if (server == 0) {
    pin(server_cpu);
    serve(directory, mode, ready[1]);
    ::_exit(0);
  }
  std::string tcp;
  for (char letter = 0; ::read(ready[0], &letter, 1) == 1 && letter != '\n';) tcp += letter;
  pin(client_cpu);
  auto loop = weft::Loop::create({.mode = mode}).value();
  std::vector<Row> rows(3);
  for (int round = 0; round < rounds; ++round) {
    measure(rows[0], *loop, tcp, false);
    measure(rows[1], *loop, text_of("socket", directory), false);
    measure(rows[2], *loop, text_of("memory", directory), true);
  }
  ::kill(server, SIGKILL);
  ::waitpid(server, nullptr, 0);
  for (const Row& row : rows) {
    std::printf("%-9s %-14s %8.2f us/call %10.0f calls/s at %d %8.2f GB/s of 1 MiB\n", what, row.name.c_str(),
                median(row.single_us), median(row.calls_per_s), kInFlight, median(row.gigabytes_per_s));
  }
  ::unlink((directory + "/socket").c_str());
  ::unlink((directory + "/memory").c_str());
  ::rmdir(directory.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 5;
  const int server_cpu = argc > 3 ? std::atoi(argv[2]) : -1;
  const int client_cpu = argc > 3 ? std::atoi(argv[3]) : -1;
  measure_mode("sleeping", weft::WaitMode::kWait, rounds, server_cpu, client_cpu);
  measure_mode("adaptive", weft::WaitMode::kAdaptive, rounds, server_cpu, client_cpu);
}
