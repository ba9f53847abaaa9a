// SPDX-License-Identifier: Apache-2.0
// CR-19: which of several devices connections take: in turn, or the nearest to their thread's processor.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "unit/transport/verbs_pair.hpp"

namespace weft {

using namespace weft::detail;
namespace {

using testing::SimulatedDevice;
using testing::SimulatedRdma;
using verbs_carrier_testing::End;

SimulatedDevice on_node(std::string name, std::uint8_t host, int node) {
  SimulatedDevice device = testing::roce_device(std::move(name), host);
  device.numa_node = node;
  return device;
}

/// Two sockets of two nodes each, as kernels describe them.
const std::vector<std::vector<int>> kTwoSockets{
    {10, 12, 20, 22}, {12, 10, 22, 24}, {20, 22, 10, 12}, {22, 24, 12, 10}};

class VerbsDevices : public ::testing::Test {
 protected:
  void use(std::vector<SimulatedDevice> devices, DeviceChoice choice) {
    rdma_ = std::make_unique<SimulatedRdma>(std::move(devices));
    rdma_->set_distances(kTwoSockets);
    VerbsOptions options;
    options.driver = rdma_.get();
    options.device_choice = choice;
    provider_ = detail::make_verbs_carriers(options);
  }
  /// Returns how many of `connections` each device got, that a thread on this node opened.
  std::map<std::string, int> open(int connections, int node) {
    rdma_->run_on_node(node);
    std::map<std::string, int> got;
    for (int i = 0; i < connections; ++i) {
      End& end = *ends_.emplace_back(std::make_unique<End>());
      auto carrier = provider_->open(*loop_, end, provider_->offer());
      EXPECT_TRUE(carrier.ok()) << carrier.status().to_string();
      if (!carrier.ok()) break;
      end.end = *std::move(carrier);
      end.carrier = &end.end->carrier();
      const std::string all = end.carrier->description();
      ++got[all.substr(0, all.find(','))];
    }
    return got;
  }

  std::unique_ptr<SimulatedRdma> rdma_;
  std::unique_ptr<Loop> loop_ = Loop::create({.mode = WaitMode::kWait}).value();
  std::shared_ptr<const CarrierProvider> provider_;
  std::vector<std::unique_ptr<End>> ends_;
};

using Got = std::map<std::string, int>;

TEST_F(VerbsDevices, WithoutAChoiceAllTakeTurnsWhereverTheyAre) {
  use({on_node("a", 1, 0), on_node("b", 2, 2), on_node("c", 3, -1)}, DeviceChoice::kRoundRobin);
  EXPECT_EQ(open(6, 0), (Got{{"a", 2}, {"b", 2}, {"c", 2}}));
}

TEST_F(VerbsDevices, EachThreadTakesTheDeviceThatIsNearestToIt) {
  use({on_node("a", 1, 0), on_node("b", 2, 2)}, DeviceChoice::kNearest);
  EXPECT_EQ(open(3, 0), (Got{{"a", 3}}));
  EXPECT_EQ(open(3, 1), (Got{{"a", 3}})) << "12 is nearer than 22";
  EXPECT_EQ(open(3, 2), (Got{{"b", 3}}));
  EXPECT_EQ(open(3, 3), (Got{{"b", 3}}));
}

TEST_F(VerbsDevices, DevicesThatAreEquallyNearTakeTurns) {
  use({on_node("a", 1, 0), on_node("far", 2, 2), on_node("b", 3, 0), on_node("c", 4, 0)},
      DeviceChoice::kNearest);
  EXPECT_EQ(open(6, 0), (Got{{"a", 2}, {"b", 2}, {"c", 2}}));
  EXPECT_EQ(open(2, 2), (Got{{"far", 2}}));
  EXPECT_EQ(open(3, 0), (Got{{"a", 1}, {"b", 1}, {"c", 1}})) << "another node's connections took no turn";
}

TEST_F(VerbsDevices, ADeviceOfAnUnknownNodeIsAsNearAsAny) {
  use({on_node("a", 1, 0), on_node("b", 2, 2), on_node("virtual", 3, -1)}, DeviceChoice::kNearest);
  EXPECT_EQ(open(4, 0), (Got{{"a", 2}, {"virtual", 2}}));
  EXPECT_EQ(open(4, 2), (Got{{"b", 2}, {"virtual", 2}}));
  EXPECT_EQ(open(6, -1), (Got{{"a", 2}, {"b", 2}, {"virtual", 2}})) << "where the thread is nobody knows";
  EXPECT_EQ(open(6, 9), (Got{{"a", 2}, {"b", 2}, {"virtual", 2}})) << "how far it is nobody knows";
}

TEST_F(VerbsDevices, AMachineThatTellsNoDistancesHasANearestDeviceAllTheSame) {
  use({on_node("a", 1, 0), on_node("b", 2, 0)}, DeviceChoice::kNearest);
  rdma_->set_distances({});
  EXPECT_EQ(open(4, 0), (Got{{"a", 2}, {"b", 2}}));
}

TEST_F(VerbsDevices, TheNextNearestDeviceIsTakenWhenTheNearestCannotBeHad) {
  use({on_node("far", 1, 2), on_node("near", 2, 0), on_node("next", 3, 1)}, DeviceChoice::kNearest);
  EXPECT_EQ(open(2, 0), (Got{{"near", 2}}));
  ends_.clear();
  rdma_->set_port_state("near", 1, IBV_PORT_DOWN);
  EXPECT_EQ(open(2, 0), (Got{{"next", 2}}));
  rdma_->set_port_state("next", 1, IBV_PORT_DOWN);
  ends_.clear();
  EXPECT_EQ(open(2, 0), (Got{{"far", 2}}));
}

TEST(SystemDevices, AProcessorIsAsNearToItsOwnNodeAsKernelsSay) {
  verbs::Driver& system = verbs::system_driver();
  const int node = system.current_numa_node();
  ASSERT_GE(node, 0);
  const int distance = system.numa_distance(node, node);
  EXPECT_TRUE(distance == 10 || distance == -1) << distance << ": -1 on a kernel without nodes";
  EXPECT_EQ(system.numa_distance(node, 1'000'000), -1);
  EXPECT_EQ(system.numa_distance(1'000'000, node), -1);
  EXPECT_EQ(system.numa_node("no_such_device"), -1);
}

}  // namespace
}  // namespace weft
