// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>
#include <weft/weft.hpp>

#include "support/manual_time.hpp"

namespace weft::faults {

using namespace std::chrono_literals;

inline constexpr const char* kAnyPort = "tcp://127.0.0.1:0";

/// Hears everything and says nothing: a hostile peer is expected to be written about.
class CountingLogger final : public Logger {
 public:
  void write(LogLevel, std::string_view) override { lines.fetch_add(1, std::memory_order_relaxed); }
  std::atomic<std::uint64_t> lines = 0;
};

/// Asks until `condition` holds, giving other threads the processor in between. False when it does not within
/// a time that is never needed.
template <typename Condition>
bool eventually(Condition condition) {
  const auto patience = std::chrono::steady_clock::now() + 60s;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > patience) return false;
    std::this_thread::yield();
  }
  return true;
}

/// The same, turning `loop` in between.
template <typename Condition>
bool turn_until(Loop& loop, Condition condition) {
  const auto patience = std::chrono::steady_clock::now() + 60s;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > patience) return false;
    loop.run_once(5ms);
  }
  return true;
}

/// All of `bytes` is sent by `peer`, and received by the side that `loop` turns for.
template <typename Peer>
void send_while_turning(Loop& loop, Peer& peer, std::string_view bytes) {
  std::atomic<bool> sent = false;
  std::thread sender([&] {
    peer.send(bytes);
    sent = true;
  });
  EXPECT_TRUE(turn_until(loop, [&] { return sent.load(); }));
  sender.join();
  loop.run_until_idle();
}

template <typename R>
Task<Result<R>> outcome_of(Call<R> call) {
  Result<R> result = co_await std::move(call);
  co_return result;
}

// Handlers that most of the tests serve.
inline int add(int a, int b) {
  return a + b;
}
inline std::string echo(std::string_view text) {
  return std::string{text};
}
inline std::uint64_t attachment_size(CallContext& context) {
  return context.attachment().size();
}

/// Counts how many calls came to which end.
struct Tally {
  int ended = 0;
  int right = 0;
  int unavailable = 0;
};
template <typename R>
Task<void> count_end(Call<R> call, R expected, Tally* tally) {
  const Result<R> result = co_await std::move(call);
  ++tally->ended;
  if (result.ok() && *result == expected) ++tally->right;
  if (result.status().code() == StatusCode::kUnavailable) ++tally->unavailable;
}
inline Task<void> join(Scope& scope) {
  co_await scope.join();
}

/// Returns how many descriptors this process has open.
inline std::size_t open_descriptors() {
  DIR* directory = ::opendir("/proc/self/fd");
  if (directory == nullptr) return 0;
  std::size_t count = 0;
  while (::readdir(directory) != nullptr) ++count;
  ::closedir(directory);
  return count;
}

/// Lets this process, and those it forks, open `count` descriptors. False when the system's hard limit
/// forbids it.
inline bool allow_descriptors(rlim_t count) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  if (limit.rlim_cur >= count) return true;
  limit.rlim_cur = count;
  limit.rlim_max = std::max(limit.rlim_max, count);
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

/// A client's loop in the test's thread; servers run on threads of their own.
class FaultTest : public ::testing::Test {
 protected:
  Loop& loop() { return *loop_; }

  template <typename Fill>
  Server& serve(ServerOptions options, Fill fill) {
    if (options.listen.empty()) options.listen = {kAnyPort};
    options.logger = &logger_;
    servers_.push_back(std::make_unique<Server>(std::move(options)));
    fill(*servers_.back());
    servers_.back()->start().value();
    return *servers_.back();
  }
  Client& client(const std::string& url, ClientOptions options = {}) {
    options.connect = url;
    options.logger = &logger_;
    clients_.push_back(std::make_unique<Client>(loop(), std::move(options)));
    return *clients_.back();
  }
  template <typename R>
  Result<R> wait_for(Call<R> call) {
    return loop().block_on(outcome_of(std::move(call)));
  }
  /// Nothing of any peer is left in `server`.
  static bool at_rest(const Server& server) {
    return eventually([&] {
      const ServerStats stats = server.stats();
      return stats.connections == 0 && stats.calls_running == 0;
    });
  }
  CountingLogger& logger() { return logger_; }

 private:
  CountingLogger logger_;
  std::unique_ptr<Loop> loop_ = Loop::create().value();
  std::vector<std::unique_ptr<Server>> servers_;
  std::vector<std::unique_ptr<Client>> clients_;
};

/// A server and its honest client on one loop, over real sockets, and a clock that the test moves: a minute
/// of waiting costs nothing, and nothing runs while the test looks. Nobody pings unless a test says so, for
/// how long the kernel takes for a pong is no time of that clock.
class StillFaultTest : public ::testing::Test {
 protected:
  ~StillFaultTest() override {
    clients_.clear();
    server_.reset();
  }
  Loop& loop() { return *loop_; }
  template <typename Fill>
  Server& serve(ServerOptions options, Fill fill) {
    options.listen = {kAnyPort};
    options.threads = 0;
    options.loop = &loop();
    options.limits.ping_interval = servers_ping_interval_;
    options.logger = &logger_;
    TransportOptions transport;
    transport.tcp.logger = &logger_;
    server_ = std::make_unique<Server>(std::move(options), std::move(transport));
    fill(*server_);
    server_->start().value();
    return *server_;
  }
  Client& client() {
    ClientOptions options;
    options.connect = server_->urls().front();
    options.limits.ping_interval = 0s;
    options.logger = &logger_;
    clients_.push_back(std::make_unique<Client>(loop(), std::move(options)));
    return *clients_.back();
  }
  template <typename R>
  Result<R> wait_for(Call<R> call) {
    return loop().block_on(outcome_of(std::move(call)));
  }
  void pass(Duration time) { testing::pass(loop(), clock_, time); }
  CountingLogger& logger() { return logger_; }

  Duration servers_ping_interval_ = 0s;

 private:
  CountingLogger logger_;
  ManualClock clock_;
  std::unique_ptr<Loop> loop_ = Loop::create({.clock = &clock_}).value();
  std::unique_ptr<Server> server_;
  std::vector<std::unique_ptr<Client>> clients_;
};

}  // namespace weft::faults
