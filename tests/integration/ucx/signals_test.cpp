// SPDX-License-Identifier: Apache-2.0
// UCX is loaded when it is first used, and the handlers of the program's signals stay the program's. Each
// test runs in a child, for a process loads UCX once.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>
#include <weft/weft.hpp>

#include "weft/detail/transport/ucx.hpp"

namespace weft {
namespace {

using namespace std::chrono_literals;

std::string mirror(std::string_view text) {
  return std::string{text};
}

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};

bool is_loaded(const char* library) {
  return ::dlopen(library, RTLD_LAZY | RTLD_NOLOAD) != nullptr;
}
bool are_default() {
  for (const int signal : kSignals) {
    struct sigaction now{};
    if (::sigaction(signal, nullptr, &now) != 0 || now.sa_handler != SIG_DFL) return false;
  }
  stack_t stack{};
  return ::sigaltstack(nullptr, &stack) == 0 && (stack.ss_flags & SS_DISABLE) != 0;
}

Task<bool> is_answered(Client* client) {
  auto answer = co_await client->call<mirror>("text");
  co_return answer.ok() && *answer == "text";
}
/// A server at `url` answers a client.
bool works(const std::string& url) {
  const std::unique_ptr<Loop> loop = Loop::create().value();
  Server server{{.listen = {url}, .threads = 0, .loop = loop.get()}};
  server.register_handler<mirror>();
  if (!server.start().ok()) return false;
  Client client{*loop, {.connect = server.urls().front(), .call_timeout = 10s}};
  return loop->block_on(is_answered(&client));
}

void passes_in_child(bool (*test)()) {
  const pid_t child = ::fork();
  if (child == 0) std::_Exit(test() ? 0 : 1);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(UcxSignals, StayDefaultAndUcxIsNotLoadedOverTcp) {
  passes_in_child([] { return works("tcp://127.0.0.1:0") && !is_loaded("libucs.so.0") && are_default(); });
}

TEST(UcxSignals, StayDefaultWhenUcxIsUsed) {
  passes_in_child([] { return works("ucx://127.0.0.1:0") && is_loaded("libucs.so.0") && are_default(); });
}

TEST(UcxSignals, StayTheProgramsOwn) {
  passes_in_child([] {
    struct sigaction own{};
    own.sa_handler = [](int) {};
    for (const int signal : kSignals) ::sigaction(signal, &own, nullptr);
    if (!works("ucx://127.0.0.1:0")) return false;
    for (const int signal : kSignals) {
      struct sigaction now{};
      if (::sigaction(signal, nullptr, &now) != 0 || now.sa_handler != own.sa_handler) return false;
    }
    return true;
  });
}

}  // namespace
}  // namespace weft
