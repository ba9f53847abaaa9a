// SPDX-License-Identifier: Apache-2.0
// A client in a process that was stopped, for example by a debugger, reads the answers that have arrived
// before it ends calls for their deadlines.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "weft/client.hpp"
#include "weft/coroutines.hpp"
#include "weft/server.hpp"

namespace weft::testing::stopped_client_tests {
namespace {

using namespace std::chrono_literals;

constexpr auto& answer_late = remote<"answer_late", int()>;

/// Runs in the child: its call must succeed.
[[noreturn]] void call_once(int url_pipe, PollerKind poller) {
  std::string url;
  char letter = 0;
  while (::read(url_pipe, &letter, 1) == 1 && letter != '\n') url += letter;
  LoopOptions options;
  options.poller = poller;
  options.mode = WaitMode::kWait;
  const std::unique_ptr<Loop> loop = Loop::create(options).value();
  Client client{*loop, {.connect = url}};
  const Result<int> answer = loop->block_on(client.call<answer_late>(CallOptions{.timeout = 1s}));
  if (!answer.ok()) std::fprintf(stderr, "%s\n", answer.status().to_string().c_str());
  std::_Exit(answer.ok() && *answer == 7 ? 0 : 1);
}

class StoppedClient : public ::testing::TestWithParam<PollerKind> {};

TEST_P(StoppedClient, ReadsTheAnswerThatArrivedWhileItWasStopped) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) call_once(ends[0], GetParam());

  const std::unique_ptr<Loop> loop = Loop::create().value();
  Server server{{.listen = {"tcp://127.0.0.1:0"}, .threads = 0, .loop = loop.get()}};
  // The child sleeps in the kernel by then.
  server.register_handler("answer_late", [child]() -> Task<int> {
    static_cast<void>(co_await sleep_for(100ms));
    ::kill(child, SIGSTOP);
    ::waitpid(child, nullptr, WUNTRACED);
    co_return 7;
  });
  server.start().value();
  const std::string line = server.urls().front() + "\n";
  ASSERT_EQ(::write(ends[1], line.data(), line.size()), static_cast<ssize_t>(line.size()));

  // Until long after the deadline of the call.
  const auto until = std::chrono::steady_clock::now() + 1500ms;
  while (std::chrono::steady_clock::now() < until) loop->run_once(10ms);
  EXPECT_EQ(server.stats().calls, 1u);
  ::kill(child, SIGCONT);
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) loop->run_once(10ms);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  ::close(ends[0]);
  ::close(ends[1]);
}

INSTANTIATE_TEST_SUITE_P(Pollers, StoppedClient, ::testing::Values(PollerKind::kEpoll, PollerKind::kIoUring));

}  // namespace
}  // namespace weft::testing::stopped_client_tests
