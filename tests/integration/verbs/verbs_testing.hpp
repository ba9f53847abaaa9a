// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conformance/fixture.hpp"
#include "integration/carrier_handlers.hpp"
#include "integration/faults/faults_testing.hpp"
#include "support/rdma_devices.hpp"
#include "support/tight_verbs.hpp"
#include "weft/detail/transport/verbs.hpp"

namespace weft::verbs_testing {

using namespace weft::detail;

using namespace carrier_testing;
using faults::eventually;
using faults::outcome_of;
using faults::turn_until;

inline constexpr const char* kKinds[] = {"plain", "tight"};

inline std::string name_of(const ::testing::TestParamInfo<const char*>& kind) {
  return kind.param;
}

/// Returns them as they are by default, or ("tight") with as little credit and as small messages as there may
/// be.
inline VerbsOptions options_of(std::string_view kind, verbs::Driver& driver) {
  static faults::CountingLogger nobody;
  VerbsOptions options = kind == "tight" ? testing::tight_verbs() : VerbsOptions{};
  options.driver = &driver;
  options.logger = &nobody;
  return options;
}

inline Transports transports(const VerbsOptions& options) {
  Transports set;
  set.add(detail::make_verbs_transport(detail::make_tcp_transport(), options));
  return set;
}

/// A loop in the test's thread, servers on it or on threads of their own, and clients, all of which may use
/// RDMA.
class World {
 public:
  ~World() { end(); }

  Loop& loop() { return *loop_; }
  enum class Where : std::uint8_t { kOwnThread, kHere };
  /// `fill` registers what the test serves beside register_all().
  template <typename Fill>
  Server& serve(const VerbsOptions& its, Where where, std::string url, Fill fill) {
    servers_.push_back(std::make_unique<Server>(server_options(where, std::move(url)), transports(its)));
    Server& server = *servers_.back();
    register_all(server);
    fill(server);
    server.start().value();
    return server;
  }
  Server& serve(const VerbsOptions& its, Where where = Where::kOwnThread,
                std::string url = "verbs://127.0.0.1:0") {
    return serve(its, where, std::move(url), [](Server&) {});
  }
  Client& client(std::string url, const VerbsOptions& its) {
    ClientOptions options;
    options.limits.ping_interval = 0s;  // a peer's end is noticed without
    options.connect = std::move(url);
    options.logger = &logger_;
    clients_.push_back(std::make_unique<Client>(*loop_, std::move(options), transports(its)));
    return *clients_.back();
  }
  void end_clients() { clients_.clear(); }
  void end_servers() { servers_.clear(); }
  /// Everything, the loop too.
  void end() {
    if (loop_ == nullptr) return;
    end_clients();
    end_servers();
    EXPECT_EQ(loop_->chunks().chunks_out(), 0u) << "F5: a chunk is still held";
    EXPECT_EQ(loop_->timers_armed(), 0u) << "F5: a timer is still armed";
    loop_.reset();
  }
  template <typename R>
  Result<R> wait_for(Call<R> call) {
    return loop_->block_on(outcome_of(std::move(call)));
  }
  void expect_alive(Client& caller) {
    const Result<int> sum = wait_for(caller.start<add>(20, 22));
    EXPECT_TRUE(sum.ok() && *sum == 42) << sum.status().to_string();
  }

  /// Way that a connection to `url` goes with these options, or what ended it.
  struct Way {
    CarrierReport report;
    Status end;
  };
  Way way_to(const std::string& url, const VerbsOptions& its) {
    const std::unique_ptr<Transport> transport =
        detail::make_verbs_transport(detail::make_tcp_transport(), its);
    auto made = loop_->block_on(transport->connect(*loop_, Url::parse(url).value(), {}));
    if (!made.ok()) return {{}, made.status()};
    conformance::Peer peer;
    peer.connection = *std::move(made);
    peer.connection->start(peer.sink);
    peer.send_hello();
    EXPECT_TRUE(turn_until(*loop_, [&] { return !peer.sink.hellos.empty() || peer.sink.closed(); }));
    if (peer.sink.closed()) return {{}, peer.sink.why};
    return {peer.connection->carrier_report(), {}};
  }

 private:
  ServerOptions server_options(Where where, std::string url) {
    ServerOptions options;
    options.limits.ping_interval = 0s;
    options.listen = {std::move(url)};
    options.logger = &logger_;
    if (where == Where::kHere) {
      options.threads = 0;
      options.loop = loop_.get();
    }
    return options;
  }

  faults::CountingLogger logger_;
  std::unique_ptr<Loop> loop_ = Loop::create().value();
  std::vector<std::unique_ptr<Server>> servers_;
  std::vector<std::unique_ptr<Client>> clients_;
};

inline std::string with_scheme(const Server& server, std::string_view scheme) {
  const std::string url = server.urls().front();
  return std::string{scheme} + url.substr(url.find("://"));
}

/// Runs on the devices that the program was linked with.
class VerbsTest : public ::testing::TestWithParam<const char*> {
 protected:
  VerbsOptions options() const { return options_of(GetParam(), testing::rdma_devices()); }
  VerbsOptions preferring() const {
    VerbsOptions its = options();
    its.connecting = its.listening = CarrierPolicy::kPrefer;
    return its;
  }
  Loop& loop() { return world.loop(); }

  World world;
};

}  // namespace weft::verbs_testing
