// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "simulation/world.hpp"
#include "support/manual_time.hpp"
#include "weft/detail/transport/simulated_network.hpp"

namespace weft::simulation {

/// Handlers that count their calls.
struct Counted {
  int ran = 0;
  std::uint32_t count(std::uint32_t number) {
    ++ran;
    return number;
  }
  std::uint32_t weigh(CallContext& context) {
    ++ran;
    return static_cast<std::uint32_t>(context.attachment().size());
  }
};

/// A server of Counted and its clients on one loop, whose clock stands still until pass().
class CountingWorld : public ::testing::Test {
 protected:
  CountingWorld() : loop_(Loop::create({.clock = &clock_}).value()), network_(*loop_) {}
  ~CountingWorld() override {
    clients_.clear();
    server_.reset();
    loop_->run_until_idle();
  }

  void serve() {
    ServerOptions options;
    options.listen = {"memory://server"};
    options.threads = 0;
    options.loop = loop_.get();
    options.logger = &logger_;
    server_ = std::make_unique<Server>(std::move(options), of("server"));
    server_->register_handler<&Counted::count>(&counted_);
    server_->register_handler<&Counted::weigh>(&counted_);
    server_->start().value();
  }
  Transports of(std::string_view host) {
    Transports transports;
    transports.add(network_.host(host).transport());
    return transports;
  }
  Client& client(ClientOptions options = {}) {
    if (options.connect.empty()) options.connect = "memory://server";
    options.logger = &logger_;
    clients_.push_back(std::make_unique<Client>(*loop_, std::move(options), of("client")));
    return *clients_.back();
  }
  void pass(Duration time) { testing::pass(*loop_, clock_, time); }
  Result<std::uint32_t> outcome_of(Call<std::uint32_t> call) {
    EXPECT_TRUE(call.done()) << "the call has not ended";
    return loop_->block_on(std::move(call));
  }
  std::vector<Call<std::uint32_t>> begin(Client& client, int calls, Duration timeout) {
    std::vector<Call<std::uint32_t>> begun;
    CallOptions options;
    options.timeout = timeout;
    for (int i = 0; i < calls; ++i) begun.push_back(client.start<&Counted::count>(options, 1u));
    loop_->run_until_idle();
    return begun;
  }

  ManualClock clock_;
  SilentLogger logger_;
  std::unique_ptr<Loop> loop_;
  SimulatedNetwork network_;
  Counted counted_;
  std::unique_ptr<Server> server_;
  std::vector<std::unique_ptr<Client>> clients_;
};

}  // namespace weft::simulation
