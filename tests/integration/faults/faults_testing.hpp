// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>
#include <weft/weft.hpp>

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
  const auto patience = std::chrono::steady_clock::now() + 10s;
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

template <typename R>
Task<Result<R>> outcome_of(Call<R> call) {
  Result<R> result = co_await std::move(call);
  co_return result;
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

}  // namespace weft::faults
