// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "integration/verbs/verbs_testing.hpp"
#include "support/simulated_rdma.hpp"

namespace weft::verbs_testing {

using testing::Call;
using testing::SimulatedRdma;
using testing::SimulatedRdmaCounters;

/// Servers and clients over two devices that exist only here. In the end nothing of the devices is left, and
/// nothing was done with them that real ones would not have borne.
class SimulatedWorld {
 public:
  SimulatedWorld() { rdma.expire_retries_at_once(true); }
  explicit SimulatedWorld(std::vector<testing::SimulatedDevice> devices) : rdma(std::move(devices)) {}
  ~SimulatedWorld() { end(); }

  void end() {
    world.end();
    EXPECT_EQ(rdma.live().total(), 0u) << "F5: an object of a device is left";
    EXPECT_EQ(rdma.registered_bytes(), 0u) << "F5";
    EXPECT_EQ(rdma.faults(), std::vector<std::string>{});
  }
  VerbsOptions options(std::string_view kind = "plain") { return options_of(kind, rdma); }
  VerbsOptions preferring(std::string_view kind = "plain") {
    VerbsOptions its = options(kind);
    its.connecting = its.listening = CarrierPolicy::kPrefer;
    return its;
  }
  std::uint64_t sends() const { return rdma.counters().sends_posted; }

  SimulatedRdma rdma{{testing::roce_device("sim0", 1), testing::roce_device("sim1", 2)}};
  World world;
};

/// One world for each test, and its most used parts.
class SimulatedTest : public ::testing::TestWithParam<const char*> {
 protected:
  Loop& loop() { return world.loop(); }
  VerbsOptions options() { return simulated.options(GetParam()); }
  VerbsOptions preferring() { return simulated.preferring(GetParam()); }

  SimulatedWorld simulated;
  SimulatedRdma& rdma = simulated.rdma;
  World& world = simulated.world;
};

}  // namespace weft::verbs_testing
