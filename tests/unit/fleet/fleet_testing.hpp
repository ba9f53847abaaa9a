// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/manual_time.hpp"
#include "weft/detail/coro/awaitable.hpp"
#include "weft/detail/coro/scope.hpp"
#include "weft/detail/fleet/fleet_client.hpp"
#include "weft/detail/runtime/sleep.hpp"
#include "weft/detail/transport/memory.hpp"
#include "weft/server.hpp"

namespace weft::fleet_tests {

using namespace std::chrono_literals;

struct Replica {
  int number = 0;
  int ran = 0;
  Duration work{};
  bool throws = false;
  StatusCode fails_with = StatusCode::kOk;
  std::map<int, int> jobs;

  Task<int> ask() {
    ++ran;
    if (throws) throw std::runtime_error{"this server is broken"};
    if (fails_with != StatusCode::kOk) throw user_error(1, "not today", fails_with);
    if (work > Duration::zero()) {
      auto nap = sleep_for(work);
      static_cast<void>(co_await nap);
    }
    co_return number;
  }
  /// Asks its caller in turn.
  Task<Result<int>> ask_back(CallContext& context, int job);
  Task<int> once(int job) {
    ++jobs[job];
    auto nap = sleep_for(work);
    static_cast<void>(co_await nap);
    co_return number;
  }
};
inline constexpr auto ask_again = idempotent<&Replica::ask>;

/// Serves the servers of its fleet.
struct Listener {
  int heard = 0;
  int twice(int job) {
    ++heard;
    return 2 * job;
  }
};

inline Task<Result<int>> Replica::ask_back(CallContext& context, int job) {
  ++ran;
  Result<int> answer = co_await context.peer().call<&Listener::twice>(job);
  co_return answer;
}

class SilentLogger final : public Logger {
 public:
  void write(LogLevel, std::string_view) override { ++lines; }
  int lines = 0;
};

/// Hosts of hole://: connections to them are neither made nor refused.
class BlackHoles final : public detail::Transport {
 public:
  bool handles(std::string_view scheme) const override { return scheme == "hole"; }
  Result<std::unique_ptr<detail::Listener>> listen(Loop&, const detail::Url&) override { return nobody(); }
  Task<Result<std::unique_ptr<detail::Connection>>> connect(Loop&, detail::Url,
                                                            detail::ConnectOptions) override {
    auto silence = sleep_for(std::chrono::hours{1});
    Result<void> slept = co_await silence;
    if (!slept.ok()) co_return slept.status();
    co_return nobody();
  }

 private:
  static Status nobody() { return {StatusCode::kUnavailable, Layer::kTransport, "nobody is there"}; }
};

/// Servers and their client on one loop, with a clock that stands still.
class FleetTest : public ::testing::Test {
 protected:
  FleetTest() : loop_(Loop::create({.clock = &clock_}).value()) {
    transports_.add(std::make_unique<MemoryNetwork>());
    transports_.add(std::make_unique<BlackHoles>());
  }
  ~FleetTest() override {
    fleet_.reset();
    servers_.clear();
    loop_->run_until_idle();
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }

  void serve(int number, const HandlerOptions& asking = {}) {
    replicas_[number].number = number;
    ServerOptions options;
    options.listen = {url(number)};
    options.threads = 0;
    options.loop = loop_.get();
    options.logger = &logger_;
    options.limits.ping_interval = 0s;
    auto server = std::make_unique<Server>(std::move(options), transports_);
    server->register_handler<&Replica::ask>(&replicas_[number], asking);
    server->register_handler<&Replica::once, &Replica::ask_back>(&replicas_[number]);
    server->start().value();
    servers_[number] = std::move(server);
  }
  void crash(int number) { servers_.erase(number); }
  static std::string url(int number) { return "memory://s" + std::to_string(100 + number); }

  FleetClient& make_named(FleetOptions options) {
    options.naming.logger = &logger_;
    options.naming.change_interval = 0s;
    options.pool.client.logger = &logger_;
    options.pool.client.limits.ping_interval = 0s;
    options.seed = 7;
    fleet_ = std::make_unique<FleetClient>(*loop_, std::move(options), transports_);
    testing::pass(*loop_, clock_, 1s);
    return *fleet_;
  }
  FleetClient& make(int servers, FleetOptions options = {}) {
    options.name = "static:";
    for (int i = 0; i < servers; ++i) options.name += (i == 0 ? "" : ",") + url(i);
    return make_named(std::move(options));
  }
  /// The servers are those of a file, which list() writes.
  FleetClient& make_listed(const std::string& lines, FleetOptions options = {}) {
    folder_ = std::filesystem::temp_directory_path() /
              ("weft_fleet_" + std::to_string(::getpid()) + "_" + std::to_string(folders_++));
    std::filesystem::create_directory(folder_);
    write(lines);
    options.name = "file:" + (folder_ / "servers").string();
    return make_named(std::move(options));
  }
  void write(const std::string& lines) {
    const std::filesystem::path path = folder_ / "new";
    std::ofstream{path} << lines;
    std::filesystem::rename(path, folder_ / "servers");
  }
  /// Writes another list, and waits until it was taken over.
  void list(const std::string& lines) {
    const std::uint64_t before = fleet_->stats().lists;
    write(lines);
    pass_until([&] { return fleet_->stats().lists > before; });
  }

  /// Lets time pass until `holds`: a long list is read on another thread, for which no clock stands still. A
  /// test that never gets there is ended by its time.
  template <typename Holds>
  void pass_until(Holds holds) {
    while (!holds()) {
      testing::pass(*loop_, clock_, 100ms);
      std::this_thread::yield();
    }
  }

  /// Runs `task` while time passes as it must.
  template <typename T>
  T run(Task<T> task, Duration time = 60s) {
    std::optional<T> result;
    Scope scope;
    loop_->post([&] { scope.spawn(&FleetTest::keep<T>, &task, &result); });
    for (Duration passed{}; !result && passed < time; passed += 10ms) testing::pass(*loop_, clock_, 10ms);
    EXPECT_TRUE(result.has_value());
    return std::move(*result);
  }
  template <typename A>
    requires detail::Awaitable<A>
  detail::AwaitResult<A> run(A&& awaitable, Duration time = 60s) {
    return run(detail::own(std::forward<A>(awaitable)), time);
  }
  template <typename T>
  static Task<void> keep(Task<T>* task, std::optional<T>* result) {
    result->emplace(co_await std::move(*task));
  }

  /// Calls that run at once; turn the loop until all have ended.
  struct Many {
    std::vector<Result<int>> results;
    std::size_t begun = 0;
    Scope scope;
  };
  template <auto M, typename... Given>
  void begin(Many& many, FleetCallOptions options, Given... given) {
    ++many.begun;
    loop_->post([this, &many, options, given...] {
      many.scope.spawn(&FleetTest::one<M, Given...>, fleet_.get(), &many, options, given...);
    });
    loop_->run_until_idle();
  }
  template <auto M, typename... Given>
  static Task<void> one(FleetClient* fleet, Many* many, FleetCallOptions options, Given... given) {
    auto call = fleet->call<M>(options, given...);
    Result<int> result = co_await std::move(call);
    many->results.push_back(std::move(result));
  }
  void finish(Many& many, Duration time = 60s) {
    for (Duration passed{}; many.results.size() < many.begun && passed < time; passed += 10ms) {
      testing::pass(*loop_, clock_, 10ms);
    }
    loop_->run_until_idle();
    ASSERT_EQ(many.results.size(), many.begun);
  }

  ManualClock clock_;
  SilentLogger logger_;
  std::unique_ptr<Loop> loop_;
  Transports transports_;
  std::map<int, Replica> replicas_;
  std::map<int, std::unique_ptr<Server>> servers_;
  std::unique_ptr<FleetClient> fleet_;
  std::filesystem::path folder_;
  static inline int folders_ = 0;
};

}  // namespace weft::fleet_tests
