// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "integration/carrier_handlers.hpp"
#include "integration/faults/faults_testing.hpp"

namespace weft::shared_memory_testing {

using namespace carrier_testing;
using faults::eventually;
using faults::open_descriptors;
using faults::outcome_of;
using faults::turn_until;

inline constexpr const char* kCarrier = "shared memory";

inline TransportOptions by_memory(CarrierPolicy policy = CarrierPolicy::kPrefer) {
  TransportOptions options;
  options.shared_memory.connecting = options.shared_memory.listening = policy;
  return options;
}

/// A directory for sockets, and a name in it.
class SocketPath {
 public:
  SocketPath() { directory_ = ::mkdtemp(name_); }
  SocketPath(const SocketPath&) = delete;
  SocketPath& operator=(const SocketPath&) = delete;
  ~SocketPath() {
    ::unlink(path().c_str());  // of a process that was killed
    EXPECT_EQ(::rmdir(directory_.c_str()), 0) << "something was left beside the socket";
  }
  std::string path() const { return directory_ + "/socket"; }
  std::string url() const { return "unix://" + path(); }

 private:
  char name_[32] = "/tmp/weft-memory-XXXXXX";
  std::string directory_;
};

/// A loop in the test's thread, and servers and clients of unix:// by shared memory.
class SharedMemoryTest : public ::testing::Test {
 protected:
  ~SharedMemoryTest() override {
    clients_.clear();
    servers_.clear();
    EXPECT_EQ(loop().chunks().chunks_out(), 0u) << "F5: a chunk is still held";
    EXPECT_EQ(loop().timers_armed(), 0u) << "F5: a timer is still armed";
  }
  Loop& loop() { return *loop_; }

  /// A server with all handlers on a thread of its own, or on the test's loop.
  Server& serve(TransportOptions its = by_memory(), bool here = false) {
    paths_.push_back(std::make_unique<SocketPath>());
    ServerOptions options;
    options.limits.ping_interval = 0s;  // a peer's end is noticed without
    options.listen = {paths_.back()->url()};
    options.logger = &logger_;
    if (here) {
      options.threads = 0;
      options.loop = &loop();
    }
    servers_.push_back(std::make_unique<Server>(std::move(options), std::move(its)));
    register_all(*servers_.back());
    servers_.back()->start().value();
    return *servers_.back();
  }
  Client& client(const std::string& url, TransportOptions its = by_memory()) {
    ClientOptions options;
    options.limits.ping_interval = 0s;
    options.connect = url;
    options.logger = &logger_;
    clients_.push_back(std::make_unique<Client>(loop(), std::move(options), std::move(its)));
    return *clients_.back();
  }
  void end_clients() { clients_.clear(); }
  template <typename R>
  Result<R> wait_for(Call<R> call) {
    return loop().block_on(outcome_of(std::move(call)));
  }
  void expect_alive(Client& caller) {
    const Result<int> sum = wait_for(caller.start<add>(20, 22));
    EXPECT_TRUE(sum.ok() && *sum == 42) << sum.status().to_string();
  }
  void expect_by_memory(Client& caller) {
    expect_alive(caller);
    EXPECT_EQ(caller.carried_by(), kCarrier) << caller.carrier_report().reason;
  }
  /// The connection works over its socket, and its report says `why`.
  void expect_by_socket(Client& caller, const std::string& why) {
    expect_alive(caller);
    EXPECT_EQ(caller.carried_by(), "unix");
    const CarrierReport report = caller.carrier_report();
    const std::string reasons =
        report.passed_over.empty() ? report.reason : report.passed_over.front().reason + report.reason;
    EXPECT_NE(reasons.find(why), std::string::npos) << reasons;
  }

 private:
  faults::CountingLogger logger_;
  std::unique_ptr<Loop> loop_ = Loop::create().value();
  std::vector<std::unique_ptr<SocketPath>> paths_;
  std::vector<std::unique_ptr<Server>> servers_;
  std::vector<std::unique_ptr<Client>> clients_;
};

}  // namespace weft::shared_memory_testing
