// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "integration/faults/faults_testing.hpp"
#include "integration/ucx/ucx_handlers.hpp"

namespace weft::ucx_testing {

using faults::eventually;
using faults::open_descriptors;
using faults::outcome_of;
using faults::turn_until;

inline std::string name_of(const ::testing::TestParamInfo<const char*>& kind) {
  return kind.param;
}

/// A loop in the test's thread, servers and clients of ucx:// in the ways of all_kinds().
class UcxTest : public ::testing::TestWithParam<const char*> {
 protected:
  ~UcxTest() override {
    clients_.clear();
    servers_.clear();
    EXPECT_EQ(loop().chunks().chunks_out(), 0u) << "F5: a chunk is still held";
    EXPECT_EQ(loop().timers_armed(), 0u) << "F5: a timer is still armed";
  }
  Loop& loop() { return *loop_; }

  static TransportOptions transports(std::string_view kind = GetParam()) {
    TransportOptions options;
    options.ucx = options_of(kind);
    static faults::CountingLogger nobody;
    options.ucx.logger = &nobody;
    return options;
  }
  /// A server with all handlers on a thread of its own, or on the test's loop.
  Server& serve(TransportOptions its, bool here = false, std::string url = "ucx://127.0.0.1:0") {
    ServerOptions options;
    options.limits.ping_interval = 0s;  // a peer's end is noticed without
    options.listen = {std::move(url)};
    options.logger = &stderr_logger();
    if (here) {
      options.threads = 0;
      options.loop = &loop();
    }
    servers_.push_back(std::make_unique<Server>(std::move(options), std::move(its)));
    register_all(*servers_.back());
    servers_.back()->start().value();
    return *servers_.back();
  }
  Client& client(const std::string& url, TransportOptions its = transports()) {
    ClientOptions options;
    options.limits.ping_interval = 0s;
    options.connect = url;
    options.logger = &logger_;
    clients_.push_back(std::make_unique<Client>(loop(), std::move(options), std::move(its)));
    return *clients_.back();
  }
  void end_clients() { clients_.clear(); }
  static std::string with_scheme(const Server& server, std::string_view scheme) {
    const std::string url = server.urls().front();
    return std::string{scheme} + url.substr(url.find("://"));
  }
  template <typename R>
  Result<R> wait_for(Call<R> call) {
    return loop().block_on(outcome_of(std::move(call)));
  }
  void expect_alive(Client& caller) {
    const Result<int> sum = wait_for(caller.start<add>(20, 22));
    EXPECT_TRUE(sum.ok() && *sum == 42) << sum.status().to_string();
  }
  faults::CountingLogger& logger() { return logger_; }

 private:
  faults::CountingLogger logger_;
  std::unique_ptr<Loop> loop_ = Loop::create().value();
  std::vector<std::unique_ptr<Server>> servers_;
  std::vector<std::unique_ptr<Client>> clients_;
};

}  // namespace weft::ucx_testing
