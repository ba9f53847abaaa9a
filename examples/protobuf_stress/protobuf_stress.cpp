// SPDX-License-Identifier: Apache-2.0
// example_protobuf_stress [SECONDS] [CALLS IN FLIGHT]
// Calls a service as fast as it can; says each second how many calls ended, how many failed, and how long
// they took. Without SECONDS it makes a thousand calls and says whether all were good.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
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

double now_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Events of one second.
struct Second {
  std::vector<double> took_us;
  std::size_t failed = 0;

  void print(int number) {
    std::ranges::sort(took_us);
    double sum = 0;
    for (const double each : took_us) sum += each;
    const auto at = [&](double share) {
      return took_us[static_cast<std::size_t>(share * static_cast<double>(took_us.size() - 1))];
    };
    if (took_us.empty()) {
      std::printf("%4d %9d %8zu\n", number, 0, failed);
    } else {
      std::printf("%4d %9zu %8zu %9.1f %9.1f %9.1f %9.1f %9.1f\n", number, took_us.size(), failed,
                  sum / static_cast<double>(took_us.size()), took_us.front(), took_us.back(), at(0.5),
                  at(0.99));
    }
    std::fflush(stdout);
    took_us.clear();
    failed = 0;
  }
};

struct Run {
  std::size_t calls_left = 1000;
  bool over = false;
  std::size_t good = 0;
  Second second;
};

weft::Task<void> call_again_and_again(const demo::EchoStub* stub, Run* run) {
  demo::EchoRequest request;
  request.set_message(std::string(126, 'x'));
  demo::EchoResponse response;
  while (!run->over && run->calls_left != 0) {
    --run->calls_left;
    const double began = now_us();
    const weft::Result<void> outcome = co_await stub->Say(request).into(response);
    if (outcome.ok() && response.message() == request.message()) {
      ++run->good;
      run->second.took_us.push_back(now_us() - began);
    } else {
      ++run->second.failed;
    }
  }
}

weft::Task<void> print_each_second(Run* run, int seconds) {
  std::printf("   s     calls   failed    avg us    min us    max us    p50 us    p99 us\n");
  for (int i = 1; i <= seconds; ++i) {
    const weft::Result<void> slept = co_await weft::sleep_for(1s);
    if (slept.ok()) run->second.print(i);
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
  Run run;
  if (seconds > 0) run.calls_left = static_cast<std::size_t>(-1);
  std::vector<weft::Task<void>> tasks;
  tasks.reserve(static_cast<std::size_t>(in_flight) + 1);
  for (int i = 0; i < in_flight; ++i) tasks.push_back(call_again_and_again(&stub, &run));
  if (seconds > 0) tasks.push_back(print_each_second(&run, seconds));
  loop->block_on(weft::when_all(std::move(tasks)));
  if (seconds == 0) std::printf("%zu calls were good, %zu failed\n", run.good, run.second.failed);
  return run.second.failed == 0 ? 0 : 1;
}
