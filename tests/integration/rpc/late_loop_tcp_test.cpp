// SPDX-License-Identifier: Apache-2.0
// A server whose loop was blocked for longer than its callers wait, over TCP and Unix sockets and the
// system's clock.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>

#include "integration/stalled_calls.hpp"

namespace weft::testing {
namespace {

using namespace weft::stall_testing;

class LateLoopsOver : public ::testing::TestWithParam<const char*> {
 protected:
  LateLoopsOver() {
    register_stalled(server_, service_);
    server_.start().value();
    client_ = std::make_unique<Client>(*loop_, ClientOptions{.connect = server_.urls().front()});
  }
  StallOutcome calls(Arrival arrival) { return calls_in_stall(service_, server_, *loop_, *client_, arrival); }
  static std::string listen() {
    const std::string url = GetParam();
    return url.starts_with("unix") ? url + std::to_string(::getpid()) : url;
  }

  StalledService service_;
  Server server_{{.listen = {listen()}, .threads = 1}};
  std::unique_ptr<Loop> loop_ = Loop::create().value();
  std::unique_ptr<Client> client_;
};

class LateLoopsOverTcp : public LateLoopsOver {};
class LateLoopsOverUnixSockets : public LateLoopsOver {};

INSTANTIATE_TEST_SUITE_P(Tcp, LateLoopsOver, ::testing::Values("tcp://127.0.0.1:0"));
INSTANTIATE_TEST_SUITE_P(Unix, LateLoopsOver, ::testing::Values("unix:///tmp/weft_late_loops_"));
INSTANTIATE_TEST_SUITE_P(Tcp, LateLoopsOverTcp, ::testing::Values("tcp://127.0.0.1:0"));
INSTANTIATE_TEST_SUITE_P(Unix, LateLoopsOverUnixSockets, ::testing::Values("unix:///tmp/weft_late_loops_"));

TEST_P(LateLoopsOver, RunNoExpiredCallThatArrivedWithOneThatBlocks) {
  expect_known_expired_calls_do_not_run(service_, server_, *loop_, *client_);
}

TEST_P(LateLoopsOverTcp, RunNoneOfAThousandCallsThatExpiredMeanwhile) {
  EXPECT_EQ(calls(Arrival::kMeanwhile).ran, 0);
}

// The kernel tells when the last bytes arrived, and those before may have arrived with them.
TEST_P(LateLoopsOverTcp, RunExpiredCallsOfAPeerThatGoesOnSending) {
  expect_expired_calls_run(calls(Arrival::kBeforeOthers));
}

TEST_P(LateLoopsOverUnixSockets, RunCallsThatExpiredMeanwhile) {
  expect_expired_calls_run(calls(Arrival::kMeanwhile));
}

constexpr auto& count_remotely = remote<"count", int(int)>;
constexpr auto& count_of_runs = remote<"count_of_runs", int()>;

/// Runs in the child, and ends with its parent at the latest.
[[noreturn]] void serve_in_child(int url_pipe) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  StalledService service;
  const std::unique_ptr<Loop> loop = Loop::create().value();
  Server server{{.listen = {"tcp://127.0.0.1:0"}, .threads = 0, .loop = loop.get()}};
  server.register_handler<method<&StalledService::count, "count">>(&service);
  server.register_handler("count_of_runs", [&service]() -> int { return service.ran; });
  server.start().value();
  const std::string line = server.urls().front() + "\n";
  if (::write(url_pipe, line.data(), line.size()) != static_cast<ssize_t>(line.size())) std::_Exit(1);
  while (true) loop->run_once(1h);
}

TEST(StoppedServers, RunNoneOfAThousandCallsThatExpiredMeanwhile) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) serve_in_child(ends[1]);
  std::string url;
  for (char letter = 0; ::read(ends[0], &letter, 1) == 1 && letter != '\n';) url += letter;
  const std::unique_ptr<Loop> loop = Loop::create().value();
  Client client{*loop, {.connect = url}};
  EXPECT_TRUE(loop->block_on(outcome_of_stalled(client.start<count_remotely>(1))).ok());

  ::kill(child, SIGSTOP);
  ::waitpid(child, nullptr, WUNTRACED);
  std::vector<Call<int>> calls;
  calls.reserve(kStalledCalls);
  for (int i = 0; i < kStalledCalls; ++i) {
    calls.push_back(client.start<count_remotely>(CallOptions{.timeout = kStallTimeout}, i));
  }
  const TimePoint end = loop->now() + kStall;
  while (loop->now() < end) loop->run_once(end - loop->now());
  ::kill(child, SIGCONT);
  for (auto& call : calls) {
    const Result<int> result = loop->block_on(outcome_of_stalled(std::move(call)));
    EXPECT_EQ(result.status().code(), StatusCode::kDeadlineExceeded) << result.status().to_string();
  }
  while (client.stats().late_answers < calls.size()) loop->run_once(5ms);
  EXPECT_EQ(loop->block_on(outcome_of_stalled(client.start<count_of_runs>())).value(), 1);

  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace weft::testing
