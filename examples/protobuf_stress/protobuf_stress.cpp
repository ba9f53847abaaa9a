// SPDX-License-Identifier: Apache-2.0
// example_protobuf_stress [SECONDS] [CALLS IN FLIGHT]
// Calls a service as fast as it can; says each second how many calls ended, how many failed, and how long
// they took. Without SECONDS it makes a thousand calls and says whether all were good.
#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>
#include <weft/weft.hpp>

#include "echo.weft.hpp"

using namespace std::chrono_literals;

namespace {

class Echo : public demo::EchoServer {
  weft::Task<weft::Result<void>> Say(weft::CallContext&, const demo::EchoRequest& request,
                                     demo::EchoResponse& response) override {
    response.set_message(request.message());
    co_return weft::Result<void>{};
  }
  weft::Task<weft::Result<void>> SendBack(weft::CallContext&, const demo::EchoRequest&,
                                          demo::EchoResponse&) override {
    co_return weft::Result<void>{};
  }
};

std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

/// Counts of how long calls took, in buckets an eighth of a power of two wide: a call costs the loop an
/// addition, and no memory grows while it is measured.
class Latencies {
 public:
  void add(std::uint64_t ns) {
    ++counts_[bucket_of(ns)];
    ++total_;
    sum_ += ns;
    least_ = std::min(least_, ns);
    most_ = std::max(most_, ns);
  }
  std::uint64_t total() const { return total_; }
  double mean_us() const { return static_cast<double>(sum_) / static_cast<double>(total_) / 1000; }
  double least_us() const { return static_cast<double>(least_) / 1000; }
  double most_us() const { return static_cast<double>(most_) / 1000; }
  /// Returns the end of the bucket within which the share of calls lies.
  double at_us(double share) const {
    const auto wanted = static_cast<std::uint64_t>(share * static_cast<double>(total_));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < kBuckets; ++i) {
      seen += counts_[i];
      if (seen > wanted) return std::min(static_cast<double>(begin_of(i + 1)) / 1000, most_us());
    }
    return most_us();
  }

 private:
  static constexpr std::size_t kBuckets = 64 * 8;
  static std::size_t bucket_of(std::uint64_t ns) {
    if (ns < 8) return ns;
    const auto octave = static_cast<std::size_t>(std::bit_width(ns)) - 4;  // 0 for 8 to 15
    return 8 + octave * 8 + ((ns >> octave) & 7);
  }
  static std::uint64_t begin_of(std::size_t bucket) {
    if (bucket < 8) return bucket;
    return (8 + bucket % 8) << (bucket / 8 - 1);
  }

  std::array<std::uint64_t, kBuckets> counts_{};
  std::uint64_t total_ = 0;
  std::uint64_t sum_ = 0;
  std::uint64_t least_ = UINT64_MAX;
  std::uint64_t most_ = 0;
};

/// Calls of one second.
struct Second {
  Latencies took;
  std::size_t failed = 0;
};

void print(int number, const Second& second) {
  const Latencies& took = second.took;
  if (took.total() == 0) {
    std::printf("%4d %9d %8zu\n", number, 0, second.failed);
  } else {
    std::printf("%4d %9llu %8zu %9.1f %9.1f %9.1f %9.1f %9.1f\n", number,
                static_cast<unsigned long long>(took.total()), second.failed, took.mean_us(), took.least_us(),
                took.most_us(), took.at_us(0.5), took.at_us(0.99));
  }
  std::fflush(stdout);
}

struct Run {
  std::size_t calls_left = 1000;
  bool over = false;
  std::size_t good = 0;
  std::size_t failed = 0;
  Second second;
};

weft::Task<void> call_again_and_again(const demo::EchoStub* stub, Run* run) {
  demo::EchoRequest request;
  request.set_message(std::string(126, 'x'));
  demo::EchoResponse response;
  while (!run->over && run->calls_left != 0) {
    --run->calls_left;
    const std::uint64_t began = now_ns();
    const weft::Result<void> outcome = co_await stub->Say(request).into(response);
    if (outcome.ok() && response.message() == request.message()) {
      ++run->good;
      run->second.took.add(now_ns() - began);
    } else {
      ++run->failed;
      ++run->second.failed;
    }
  }
}

/// Prints each second on the thread of `printer`: what reads and writes a terminal would hold up the loop on
/// which the calls are measured. The loop only copies the counts.
weft::Task<void> print_each_second(Run* run, int seconds, weft::WorkerPool* printer) {
  std::printf("   s     calls   failed    avg us    min us    max us    p50 us    p99 us\n");
  for (int i = 1; i <= seconds; ++i) {
    const weft::Result<void> slept = co_await weft::sleep_for(1s);
    if (!slept.ok()) break;
    const Second second = std::exchange(run->second, {});
    auto printed = weft::on_worker(*printer, [i, second] { print(i, second); });
    static_cast<void>(co_await std::move(printed));
  }
  run->over = true;
}

}  // namespace

int main(int argc, char** argv) {
  const int seconds = argc > 1 ? std::atoi(argv[1]) : 0;
  const int in_flight = argc > 2 ? std::atoi(argv[2]) : 64;
  if ((argc > 1 && seconds <= 0) || in_flight <= 0) {
    std::fprintf(stderr, "usage: %s [SECONDS] [CALLS IN FLIGHT], both from 1 on\n", argv[0]);
    return 2;
  }
  Echo echo;
  weft::Server server{{.listen = {"tcp://127.0.0.1:0"}}};
  weft::protobuf::Services{server}.add(echo);
  server.start().value();

  auto loop = weft::Loop::create().value();
  weft::Client client{*loop, {.connect = server.urls().front()}};
  const demo::EchoStub stub{client};
  const auto printer = weft::WorkerPool::start({.threads = 1}).value();
  Run run;
  if (seconds > 0) run.calls_left = static_cast<std::size_t>(-1);
  std::vector<weft::Task<void>> tasks;
  tasks.reserve(static_cast<std::size_t>(in_flight) + 1);
  for (int i = 0; i < in_flight; ++i) tasks.push_back(call_again_and_again(&stub, &run));
  if (seconds > 0) tasks.push_back(print_each_second(&run, seconds, printer.get()));
  loop->block_on(weft::when_all(std::move(tasks)));
  if (seconds == 0) std::printf("%zu calls were good, %zu failed\n", run.good, run.failed);
  return run.failed == 0 ? 0 : 1;
}
