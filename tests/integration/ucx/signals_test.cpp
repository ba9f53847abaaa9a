// SPDX-License-Identifier: Apache-2.0
// UCX is loaded when it is first used, and the handlers of the program's signals stay the program's. Each
// test runs in a child, for a process loads UCX once.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <iterator>
#include <memory>
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
/// Handlers of the signals, and the stack that they run on. A sanitizer has some before a test begins.
class SignalState {
 public:
  SignalState() {
    for (std::size_t i = 0; i < std::size(kSignals); ++i) {
      struct sigaction now{};
      if (::sigaction(kSignals[i], nullptr, &now) == 0) handlers_[i] = now.sa_handler;
    }
    ::sigaltstack(nullptr, &stack_);
  }
  bool operator==(const SignalState& other) const {
    return handlers_ == other.handlers_ && stack_.ss_sp == other.stack_.ss_sp &&
           stack_.ss_flags == other.stack_.ss_flags;
  }

 private:
  std::array<void (*)(int), std::size(kSignals)> handlers_{};
  stack_t stack_{};
};

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

TEST(UcxSignals, StayAsTheyWereAndUcxIsNotLoadedOverTcp) {
  passes_in_child([] {
    const SignalState before;
    return works("tcp://127.0.0.1:0") && !is_loaded("libucs.so.0") && SignalState{} == before;
  });
}

TEST(UcxSignals, StayAsTheyWereWhenUcxIsUsed) {
  passes_in_child([] {
    const SignalState before;
    return works("ucx://127.0.0.1:0") && is_loaded("libucs.so.0") && SignalState{} == before;
  });
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
