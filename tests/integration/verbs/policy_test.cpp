// SPDX-License-Identifier: Apache-2.0
// CR-15, CR-19: what RDMA is when the devices, or the peer, do not let it be. On simulated devices.
#include <gmock/gmock.h>

#include <cerrno>

#include "integration/verbs/simulated_testing.hpp"

namespace weft::verbs_testing {
namespace {

using ::testing::HasSubstr;

class VerbsPolicy : public SimulatedTest {
 protected:
  Status call(const std::string& url, const VerbsOptions& its) {
    return world.wait_for(world.client(url, its).start<add>(1, 2)).status();
  }
  void expect_refused(const Status& status, const char* why) {
    EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition) << status.to_string();
    EXPECT_THAT(status.to_string(), HasSubstr(why));
  }
  Status start(const VerbsOptions& its, const char* url = "verbs://127.0.0.1:0") {
    const Transports set = transports(its);
    Server server{{.listen = {url}}, set};
    return server.start().status();
  }
};

/// Clients that share a transport.
class VerbsDeviceChoice : public SimulatedTest {
 protected:
  Client& another_client(const std::string& url) {
    clients_.push_back(std::make_unique<Client>(loop(), ClientOptions{.connect = url}, set_));
    return *clients_.back();
  }

  const Transports set_ = transports(options());
  std::vector<std::unique_ptr<Client>> clients_;
};

INSTANTIATE_TEST_SUITE_P(Verbs, VerbsDeviceChoice, ::testing::Values("plain"), name_of);
INSTANTIATE_TEST_SUITE_P(Verbs, VerbsPolicy, ::testing::Values("plain"), name_of);

TEST_P(VerbsPolicy, WithoutADeviceRdmaIsRefusedOrDoneWithout) {
  const std::string url = world.serve(preferring(), World::Where::kHere, "tcp://127.0.0.1:0").urls().front();
  SimulatedRdma none{{}};
  VerbsOptions its = preferring();
  its.driver = &none;
  expect_refused(call("verbs" + url.substr(3), its), "has no RDMA device");
  EXPECT_TRUE(call(url, its).ok());
  EXPECT_THAT(world.way_to(url, its).report.reason, HasSubstr("has no RDMA device"));
  expect_refused(start(its), "has no RDMA device");
  // Who only prefers RDMA serves by TCP on a machine that has none.
  const std::string plain = world.serve(its, World::Where::kHere, "tcp://127.0.0.1:0").urls().front();
  EXPECT_TRUE(call(plain, preferring()).ok());
  its.listening = CarrierPolicy::kRequire;
  expect_refused(start(its, "tcp://127.0.0.1:0"), "has no RDMA device");
}

TEST_P(VerbsPolicy, AKernelWithoutRdmaIsLikeNoDevice) {
  const std::string url = world.serve(options(), World::Where::kHere, "tcp://127.0.0.1:0").urls().front();
  rdma.fail_every(Call::kGetDeviceList, ENOSYS);
  expect_refused(call("verbs" + url.substr(3), options()), "has no RDMA device");
}

TEST_P(VerbsPolicy, APortThatIsDownRefusesRdmaUntilItIsUp) {
  const std::string url = world.serve(preferring(), World::Where::kHere, "tcp://127.0.0.1:0").urls().front();
  VerbsOptions its = preferring();
  its.devices = {"sim0"};
  rdma.set_port_state("sim0", 1, IBV_PORT_DOWN);
  expect_refused(call("verbs" + url.substr(3), its), "is its network interface up?");
  EXPECT_TRUE(call(url, its).ok());
  rdma.set_port_state("sim0", 1, IBV_PORT_ACTIVE);
  EXPECT_TRUE(call("verbs" + url.substr(3), its).ok());
  EXPECT_THAT(world.way_to(url, its).report.description, HasSubstr("sim0, port 1"));
}

TEST_P(VerbsPolicy, TheSideWhosePortIsDownIsTheOneThatIsNamed) {
  VerbsOptions its = preferring();
  its.devices = {"sim0"};
  VerbsOptions at_server = preferring();
  at_server.devices = {"sim1"};
  const std::string url = world.serve(at_server, World::Where::kHere, "tcp://127.0.0.1:0").urls().front();
  rdma.set_port_state("sim1", 1, IBV_PORT_DOWN);
  EXPECT_THAT(world.way_to(url, its).report.reason, HasSubstr("the peer could not bring it up"));
  expect_refused(call("verbs" + url.substr(3), its), "no port of sim1 is active");
  EXPECT_EQ(simulated.sends(), 0u);
}

TEST_P(VerbsPolicy, AnAddressThatNobodyAnswersToIsSaidOrDoneWithout) {
  const std::string url = world.serve(preferring(), World::Where::kHere, "tcp://127.0.0.1:0").urls().front();
  for (const int error : {ETIMEDOUT, EHOSTUNREACH, ENETUNREACH}) {
    rdma.fail_every(Call::kCreateAh, error);
    expect_refused(call("verbs" + url.substr(3), preferring()),
                   "no device answers at the peer's RDMA address");
    Client& preferred = world.client(url, preferring());
    world.expect_alive(preferred);
    EXPECT_EQ(preferred.stats().connections, 1u);
    EXPECT_THAT(world.way_to(url, preferring()).report.reason, HasSubstr("no device answers"));
  }
  EXPECT_EQ(simulated.sends(), 0u);
}

TEST_P(VerbsPolicy, ADeviceThatIsNamedAndNotThereIsRefusedEarly) {
  const std::string url = world.serve(options(), World::Where::kHere).urls().front();
  VerbsOptions wrong = options();
  wrong.devices = {"sim0", "mlx5_7"};
  expect_refused(call(url, wrong), "there is no RDMA device \"mlx5_7\", only sim0 sim1");
  expect_refused(start(wrong), "mlx5_7");
  wrong.listening = CarrierPolicy::kPrefer;
  expect_refused(start(wrong, "tcp://127.0.0.1:0"), "mlx5_7");
}

TEST_P(VerbsPolicy, AnAddressOfOursThatIsNotThereIsRefusedEarly) {
  VerbsOptions wrong = options();
  wrong.gid_index = 77;
  expect_refused(start(wrong), "there is no GID 77 at sim0 port 1, sim1 port 1");
  wrong.devices = {"sim1"};
  expect_refused(start(wrong), "there is no GID 77 at sim1 port 1 (weft info");
  wrong.listening = CarrierPolicy::kPrefer;
  EXPECT_TRUE(start(wrong, "tcp://127.0.0.1:0").ok()) << "who only prefers RDMA serves without";
  // A port that is down may have it when it is up, and rdma_cm chooses for itself.
  wrong.devices = {"sim0", "sim1"};
  rdma.set_port_state("sim1", 1, IBV_PORT_DOWN);
  EXPECT_TRUE(start(wrong).ok());
  rdma.set_port_state("sim1", 1, IBV_PORT_ACTIVE);
  wrong.connect_by = VerbsConnect::kRdmaCm;
  EXPECT_TRUE(start(wrong).ok());
}

// The server has no word left to say it with when it ends the connection.
TEST_P(VerbsPolicy, AClientThatCannotGiveAServerWhatItRequiresIsToldWhy) {
  VerbsOptions strict = options();
  strict.listening = CarrierPolicy::kRequire;
  const std::string url = world.serve(strict, World::Where::kHere, "tcp://127.0.0.1:0").urls().front();
  VerbsOptions its = preferring();
  its.devices = {"mlx5_7"};
  Client& caller = world.client(url, its);
  for (int i = 0; i < 3; ++i) {
    const Status status = world.wait_for(caller.start<add>(1, 2)).status();
    EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition) << status.to_string();
    EXPECT_THAT(status.to_string(), HasSubstr("the peer requires the carrier 'verbs'"));
    EXPECT_THAT(status.to_string(), HasSubstr("mlx5_7"));
  }
  EXPECT_EQ(caller.stats().connections, 0u);
  EXPECT_GE(caller.stats().connect_failures, 1u);
}

TEST_P(VerbsPolicy, OptionsThatCannotBeAreRefusedByName) {
  const auto refusal = [&](auto change) {
    VerbsOptions wrong = options();
    change(wrong);
    const Status status = call("verbs://127.0.0.1:1", wrong);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << status.to_string();
    return status.to_string();
  };
  EXPECT_THAT(refusal([](VerbsOptions& its) { its.message_bytes = 100; }), HasSubstr("message_bytes"));
  EXPECT_THAT(refusal([](VerbsOptions& its) { its.block_bytes = 1024; }), HasSubstr("block_bytes"));
  EXPECT_THAT(refusal([](VerbsOptions& its) { its.credits_min = 3; }), HasSubstr("credits_min"));
  EXPECT_THAT(refusal([](VerbsOptions& its) { its.credits_max = 3; }), HasSubstr("credits_max"));
  EXPECT_THAT(refusal([](VerbsOptions& its) { its.sends_max = 1; }), HasSubstr("sends_max"));
  EXPECT_THAT(refusal([](VerbsOptions& its) { its.connections_max = 0; }), HasSubstr("connections_max"));
  EXPECT_THAT(refusal([](VerbsOptions& its) { its.receive_bytes_max = 1; }), HasSubstr("receive_bytes_max"));
  EXPECT_THAT(refusal([](VerbsOptions& its) { its.send_bytes_max = 1; }), HasSubstr("send_bytes_max"));
  EXPECT_THAT(refusal([](VerbsOptions& its) { its.retries = 7; }), HasSubstr("retries"));
  EXPECT_THAT(refusal([](VerbsOptions& its) { its.logger = nullptr; }), HasSubstr("logger"));
}

TEST_P(VerbsDeviceChoice, ConnectionsTakeTheDevicesInTurn) {
  const std::string url = world.serve(options(), World::Where::kHere).urls().front();
  // One transport, as a program has: the turn is its own.
  for (int i = 0; i < 4; ++i) world.expect_alive(another_client(url));
  EXPECT_EQ(rdma.queue_pairs("sim0").size(), 4u) << "two of the clients', two of the server's";
  EXPECT_EQ(rdma.queue_pairs("sim1").size(), 4u);
}

TEST_P(VerbsDeviceChoice, ADeviceWhosePortIsDownIsPassedOver) {
  const std::string url = world.serve(options(), World::Where::kHere).urls().front();
  for (int i = 0; i < 2; ++i) world.expect_alive(another_client(url));
  rdma.set_port_state("sim1", 1, IBV_PORT_DOWN);
  clients_.clear();
  for (int i = 0; i < 4; ++i) world.expect_alive(another_client(url));
  EXPECT_EQ(rdma.queue_pairs("sim0").size(), 8u);
}

// A hello of one kind of network does not fit the other.
TEST_P(VerbsPolicy, InfinibandHereAndEthernetThereIsRefusedInWords) {
  SimulatedRdma infiniband{{testing::infiniband_device("ib0", 7)}};
  VerbsOptions its = preferring();
  its.driver = &infiniband;
  const std::string url = world.serve(preferring(), World::Where::kHere, "tcp://127.0.0.1:0").urls().front();
  EXPECT_THAT(world.way_to(url, its).report.reason, HasSubstr("InfiniBand here, Ethernet there"));
  EXPECT_TRUE(call(url, its).ok());
  world.end();
  EXPECT_EQ(infiniband.live().total(), 0u);
}

}  // namespace
}  // namespace weft::verbs_testing
