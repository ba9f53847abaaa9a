// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "simulation/world.hpp"
#include "weft/connection_pool.hpp"

namespace weft::simulation {

/// Some workers and one queue in front of them, which nobody can leave: work that was begun for a caller who
/// has given up is done all the same. `one_work` is what one call takes.
class SlowThing {
 public:
  explicit SlowThing(std::size_t workers, Duration one_work) : free_at_(workers), one_work_(one_work) {}

  Task<int> work(int number) {
    ++runs;
    TimePoint& free_at = *std::min_element(free_at_.begin(), free_at_.end());
    free_at = std::max(free_at, Loop::current()->now()) + one_work_;
    const Duration wait = free_at - Loop::current()->now();
    [[maybe_unused]] const auto slept = co_await sleep_for(wait);
    co_return number;
  }
  int plain(int number) {
    ++runs;
    return number;
  }
  std::uint64_t take(CallContext& context, int) {
    ++runs;
    return context.attachment().size();
  }
  std::uint64_t swallow(std::string_view text) {
    ++runs;
    return text.size();
  }

  int runs = 0;

 private:
  std::vector<TimePoint> free_at_;
  const Duration one_work_;
};

/// A server with limits in front of a SlowThing, and clients of it, on one loop whose clock moves only when
/// nothing is left to do.
class GatedWorld {
 public:
  explicit GatedWorld(ServerOptions options, std::size_t clients = 1, const HandlerOptions& handler = {},
                      SlowThing its_thing = SlowThing{16, 10ms}, Duration timeout = 100ms)
      : thing(std::move(its_thing)) {
    transports_.add(std::make_unique<MemoryNetwork>());
    options.listen = {"memory://server"};
    options.threads = 0;
    options.loop = loop_.get();
    options.logger = &logger_;
    server_ = std::make_unique<Server>(std::move(options), transports_);
    HandlerOptions inline_handler = handler;
    inline_handler.adaptive_limit.reset();
    inline_handler.running_max = 0;
    server_->register_handler<&SlowThing::work>(&thing, handler);
    server_->register_handler<&SlowThing::take>(&thing, handler);
    server_->register_handler<&SlowThing::plain>(&thing, inline_handler);
    server_->register_handler<&SlowThing::swallow>(&thing, inline_handler);
    server_->start().value();
    ClientOptions client;
    client.connect = "memory://server";
    client.call_timeout = timeout;
    client.logger = &logger_;
    for (std::size_t i = 0; i < clients; ++i) {
      clients_.push_back(std::make_unique<Client>(*loop_, client, transports_));
    }
  }
  ~GatedWorld() { clients_.clear(); }

  /// One more client, which ends before the world.
  std::unique_ptr<Client> make_client(ClientOptions options) {
    options.connect = "memory://server";
    options.logger = &logger_;
    return std::make_unique<Client>(*loop_, std::move(options), transports_);
  }
  /// A pool, which ends before the world.
  std::unique_ptr<ConnectionPool> make_pool(PoolOptions options) {
    options.client.connect = "memory://server";
    options.client.logger = &logger_;
    return std::make_unique<ConnectionPool>(*loop_, std::move(options), transports_);
  }
  Client& client(std::size_t index = 0) { return *clients_[index]; }
  void lose_client(std::size_t index) { clients_[index].reset(); }
  Server& server() { return *server_; }
  Loop& loop() { return *loop_; }
  TimePoint now() { return clock_.now(); }

  bool step() {
    if (loop_->run_once(Duration::zero())) return true;
    const auto next = loop_->next_timer();
    if (!next) return false;
    clock_.set(std::max(clock_.now(), *next));
    return true;
  }
  /// Begins a coroutine in a turn of the loop.
  template <typename... Arguments>
  void spawn(Scope& scope, Arguments... arguments) {
    loop_->post([&] { scope.spawn(std::move(arguments)...); });
    loop_->run_once(Duration::zero());
  }
  /// Runs a coroutine to its end.
  template <typename F>
  void run(F make_task) {
    Scope scope;
    bool done = false;
    spawn(scope, &GatedWorld::run_one<F>, std::move(make_task), &done);
    while (!done && step()) {
    }
  }
  /// Lets `time` pass.
  void pass(Duration time) {
    bool over = false;
    Scope scope;
    spawn(scope, &GatedWorld::nap, time, &over);
    while (!over && step()) {
    }
  }

  SlowThing thing;

 private:
  template <typename F>
  static Task<void> run_one(F make_task, bool* done) {
    co_await make_task();
    *done = true;
  }
  static Task<void> nap(Duration time, bool* over) {
    [[maybe_unused]] const auto slept = co_await sleep_for(time);
    *over = true;
  }

  ManualClock clock_;
  SilentLogger logger_;
  std::unique_ptr<Loop> loop_ = Loop::create({.clock = &clock_}).value();
  Transports transports_;
  std::unique_ptr<Server> server_;
  std::vector<std::unique_ptr<Client>> clients_;
};

/// Outcomes of the calls of one caller.
struct Calls {
  int started = 0;
  int good = 0;
  int refused = 0;
  Duration waits_told{};
  int other = 0;

  void count(const Status& status) {
    if (status.ok()) {
      ++good;
    } else if (status.code() == StatusCode::kResourceExhausted && status.unprocessed()) {
      ++refused;
      waits_told += status.retry_after();
    } else {
      ++other;
    }
  }
};

}  // namespace weft::simulation
