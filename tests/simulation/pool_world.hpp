// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simulation/noting_network.hpp"
#include "simulation/world.hpp"
#include "support/manual_time.hpp"
#include "weft/connection_pool.hpp"
#include "weft/detail/coro/event.hpp"
#include "weft/detail/transport/simulated_network.hpp"

namespace weft::simulation {

using namespace weft::detail;

/// Handlers of a pool.
struct Field {
  std::uint32_t asked = 0;
  Event gate;

  std::uint32_t thrice(std::uint32_t number) {
    ++asked;
    return number * 3;
  }
  Task<std::uint32_t> thrice_later(std::uint32_t number) {
    ++asked;
    Result<void> opened = co_await gate.wait();
    static_cast<void>(opened);
    co_return number * 3;
  }
  /// Calls the server by the connection that the request came by.
  Task<Result<std::uint32_t>> ask_in_turn(CallContext& context, std::uint32_t number);
};

/// Handlers that count what ran.
struct Kept {
  std::map<std::uint32_t, int> ran;
  std::vector<Peer> peers;
  Event gate;
  Event second_gate;

  std::uint32_t twice(std::uint32_t number) {
    ++ran[number];
    return number * 2;
  }
  std::uint32_t weigh(CallContext& context, std::uint32_t number) {
    return number + static_cast<std::uint32_t>(context.attachment().size());
  }
  /// Asks the one who called; waits at the gate before, so that many calls are under way together.
  Task<Result<std::uint32_t>> ask_back(CallContext& context, std::uint32_t number) {
    peers.push_back(context.peer());
    Result<void> opened = co_await gate.wait();
    static_cast<void>(opened);
    Result<std::uint32_t> answer = co_await context.peer().call<&Field::thrice>(number);
    co_return answer;
  }
  Task<std::uint32_t> held(std::uint32_t number) {
    ++ran[number];
    Result<void> opened = co_await gate.wait();
    static_cast<void>(opened);
    co_return number * 2;
  }
  Task<std::uint32_t> held_longer(std::uint32_t number) {
    ++ran[number];
    Result<void> opened = co_await second_gate.wait();
    static_cast<void>(opened);
    co_return number * 2;
  }
};
inline Task<Result<std::uint32_t>> Field::ask_in_turn(CallContext& context, std::uint32_t number) {
  Result<std::uint32_t> answer = co_await context.peer().call<&Kept::twice>(number);
  co_return answer;
}
inline constexpr auto held_again = idempotent<&Kept::held>;

class Pools : public ::testing::Test {
 protected:
  Pools() : loop_(Loop::create({.clock = &clock_}).value()) {
    auto network = std::make_unique<NotingNetwork>();
    network_ = network.get();
    transports_.add(std::move(network));
  }
  ~Pools() override {
    pool_.reset();
    server_.reset();
    loop_->run_until_idle();
  }

  static PoolOptions options() {
    PoolOptions options;
    options.client.connect = "memory://server";
    options.client.limits.ping_interval = 0s;
    return options;
  }
  ConnectionPool& make(PoolOptions options) {
    options.client.logger = &logger_;
    pool_ = std::make_unique<ConnectionPool>(*loop_, std::move(options), transports_);
    return *pool_;
  }
  void serve(std::uint32_t calls_in_flight_max = RpcLimits{}.calls_in_flight_max) {
    ServerOptions options;
    options.limits.calls_in_flight_max = calls_in_flight_max;
    options.listen = {"memory://server"};
    options.threads = 0;
    options.loop = loop_.get();
    options.logger = &logger_;
    options.limits.ping_interval = 0s;
    server_ = std::make_unique<Server>(std::move(options), transports_);
    server_->register_handler<&Kept::twice>(&kept_);
    server_->register_handler<&Kept::weigh>(&kept_);
    server_->register_handler<&Kept::held>(&kept_);
    server_->register_handler<&Kept::held_longer>(&kept_);
    server_->register_handler<&Kept::ask_back>(&kept_);
    server_->start().value();
  }
  void crash() { server_.reset(); }
  /// Connects the pool without a call.
  void connect() {
    scope_.spawn(&Pools::connect_pool, pool_.get());
    run_until_idle();
  }
  void pass(Duration time) { testing::pass(*loop_, clock_, time); }
  void run_until_idle() { pass(Duration::zero()); }
  Loop& loop() { return *loop_; }
  PoolStats stats() { return pool_->stats(); }
  ConnectionPool& pool() { return *pool_; }
  const Transports& transports() const { return transports_; }

  /// Begins `count` calls of `M` with the numbers from `first` on.
  template <auto M>
  std::vector<Call<std::uint32_t>> begin(std::uint32_t count, std::uint32_t first = 0) {
    std::vector<Call<std::uint32_t>> calls;
    for (std::uint32_t i = 0; i < count; ++i) calls.push_back(pool_->template start<M>(first + i));
    run_until_idle();
    return calls;
  }
  Result<std::uint32_t> outcome(Call<std::uint32_t>& call) {
    Result<std::uint32_t> result{0};
    bool told = false;
    scope_.spawn(&Pools::keep_outcome, &call, &result, &told);
    run_until_idle();
    EXPECT_TRUE(told) << "the call has not ended";
    return result;
  }

  Result<std::uint32_t> ask_peer(std::size_t peer, bool later = false) {
    Result<std::uint32_t> result{0};
    bool told = false;
    scope_.spawn(&Pools::keep_peers_answer, kept_.peers.at(peer), later, &result, &told);
    run_until_idle();
    EXPECT_TRUE(told) << "the call has not ended";
    return result;
  }
  static Task<void> keep_peers_answer(Peer peer, bool later, Result<std::uint32_t>* result, bool* told) {
    if (later) {
      *result = co_await peer.call<&Field::thrice_later>(7u);
    } else {
      *result = co_await peer.call<&Field::thrice>(7u);
    }
    *told = true;
  }

  Kept kept_;
  Field field_;
  NotingNetwork* network_ = nullptr;

 private:
  static Task<void> connect_pool(ConnectionPool* pool) {
    auto connecting = pool->connect();
    const Result<void> connected = co_await std::move(connecting);
    EXPECT_TRUE(connected.ok());
  }
  static Task<void> keep_outcome(Call<std::uint32_t>* call, Result<std::uint32_t>* result, bool* told) {
    *result = co_await std::move(*call);
    *told = true;
  }

  ManualClock clock_;
  SilentLogger logger_;
  std::unique_ptr<Loop> loop_;
  Transports transports_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<ConnectionPool> pool_;
  Scope scope_;
};

}  // namespace weft::simulation
