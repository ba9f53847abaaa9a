// SPDX-License-Identifier: Apache-2.0
// What `weft info` says of RDMA devices, which are simulated.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "info_report.hpp"
#include "support/simulated_rdma.hpp"
#include "weft/detail/transport/verbs.hpp"
#include "weft/detail/verbs/device.hpp"

namespace weft::info {

using namespace weft::detail;
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::SimulatedRdma;

std::string text_of(SimulatedRdma& devices, const Options& options = {}) {
  return rdma_carrier(rdma_facts(options, &devices))->text(options);
}

TEST(InfoRdma, ListsDevicesPortsAndAddresses) {
  SimulatedRdma devices{{testing::roce_device("rocep1", 7), testing::infiniband_device("mlx5_0", 42)}};
  const std::string text = text_of(devices);
  EXPECT_THAT(text, AllOf(HasSubstr("rocep1 port 1"), HasSubstr("active, Ethernet, MTU ")));
  EXPECT_THAT(text, AllOf(HasSubstr("mlx5_0 port 1"), HasSubstr("InfiniBand, MTU "), HasSubstr("LID 42")));
  EXPECT_THAT(text, AllOf(HasSubstr("RoCE v1, fe80::"), HasSubstr("RoCE v2, 10.0.0.7")));
  EXPECT_THAT(text, HasSubstr("in turn"));
}

TEST(InfoRdma, SaysWhichAddressIsChosenAndWhy) {
  SimulatedRdma devices{{testing::roce_device("rocep1", 7)}};
  const std::string text = text_of(devices);
  EXPECT_THAT(text, HasSubstr("RoCE v2, 10.0.0.7   <- chosen"));
  EXPECT_THAT(text, HasSubstr("RoCE v2 comes before the other types, and of these an address that is not "
                              "link-local, the first of them"));
}

TEST(InfoRdma, SaysThatAnAddressWasAskedFor) {
  SimulatedRdma devices{{testing::roce_device("rocep1", 7)}};
  Options options;
  options.rdma.gid_index = 0;
  EXPECT_THAT(text_of(devices, options), HasSubstr("--rdma-gid-index says so"));
}

TEST(InfoRdma, RefusesAnAddressThatIsNotThere) {
  SimulatedRdma devices{{testing::roce_device("rocep1", 7)}};
  Options options;
  options.rdma.gid_index = 99;
  const auto facts = rdma_facts(options, &devices);
  EXPECT_EQ(facts.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string{facts.status().message()}, HasSubstr("there is no GID 99"));
  EXPECT_EQ(exit_code_of(report_of(UcxFacts{}, Probe{}, facts), options), 1);
}

TEST(InfoRdma, SaysThatAPortIsDown) {
  SimulatedRdma devices{{testing::roce_device("rocep1", 7)}};
  devices.set_port_state("rocep1", 1, IBV_PORT_DOWN);
  EXPECT_THAT(text_of(devices),
              AllOf(HasSubstr("down, Ethernet"), HasSubstr("no port is active"), Not(HasSubstr("chosen"))));
}

TEST(InfoRdma, SaysWhyADeviceCannotBeLookedAt) {
  SimulatedRdma devices{{testing::roce_device("rocep1", 7)}};
  devices.fail_every(testing::Call::kOpenDevice, EACCES);
  EXPECT_THAT(text_of(devices), HasSubstr("may this user open /dev/infiniband"));
}

TEST(InfoRdma, LeavesOutDevicesThatWereNotAskedFor) {
  SimulatedRdma devices{{testing::roce_device("rocep1", 7), testing::infiniband_device("mlx5_0", 42)}};
  Options options;
  options.rdma.device = "mlx5_0";
  EXPECT_THAT(text_of(devices, options), HasSubstr("not used: --rdma-device asks for mlx5_0"));
  options.rdma.device = "mlx5_1";
  const auto facts = rdma_facts(options, &devices);
  EXPECT_EQ(facts.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(std::string{facts.status().message()}, HasSubstr("only rocep1 mlx5_0"));
}

TEST(InfoRdma, OfAMachineWithoutDevicesIsNoFailure) {
  SimulatedRdma devices{{}};
  const Report report = report_of(UcxFacts{}, Probe{}, rdma_facts({}, &devices));
  EXPECT_THAT(to_text(report, {}), HasSubstr("this machine has none"));
  EXPECT_EQ(exit_code_of(report, {}), 0);
}

TEST(InfoRdma, IsTheSameForScripts) {
  SimulatedRdma devices{{testing::roce_device("rocep1", 7)}};
  const auto json =
      nlohmann::json::parse(to_json(report_of(UcxFacts{}, Probe{}, rdma_facts({}, &devices)), {}));
  const auto& port = json["rdma"]["devices"][0]["ports"][0];
  EXPECT_EQ(port["state"], "active");
  EXPECT_TRUE(port["chosen"]);
  EXPECT_EQ(port["gids"].size(), 4U);
  EXPECT_EQ(json["verbs_options"]["credits_min"], VerbsOptions{}.credits_min);
}

TEST(InfoRdma, OfAConnectionSaysWhatCarriesIt) {
  Options options;
  options.connect = "verbs://10.0.0.7:9000";
  Probe probe;
  probe.carrier = "verbs";
  probe.asked = wire::CarrierKind::kVerbs;
  probe.ours = CarrierPolicy::kRequire;
  probe.theirs = CarrierPolicy::kPrefer;
  probe.description = "rxe0, port 1, from 10.0.0.7";
  const Report report = report_of(UcxFacts{}, probe);
  EXPECT_THAT(
      to_text(report, options),
      AllOf(HasSubstr("requires RDMA, because the URL begins with verbs://"), HasSubstr("offers RDMA"),
            HasSubstr("RDMA; the stream stays beside it"), HasSubstr("rxe0, port 1, from 10.0.0.7")));
  EXPECT_EQ(nlohmann::json::parse(to_json(report, options))["connection"]["description"], probe.description);
}

TEST(InfoRdma, OfAConnectionSaysThatThisMachineHasNone) {
  const auto names = verbs::device_names();
  ASSERT_TRUE(names.ok()) << names.status().to_string();
  if (!names->empty()) GTEST_SKIP() << "this machine has RDMA devices";
  Options options;
  options.connect = "verbs://127.0.0.1:1";
  const Status status = blocking_probe(options).status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition) << status.to_string();
  EXPECT_THAT(status.to_string(), AllOf(HasSubstr("no RDMA device"), HasSubstr(options.connect)));
}

}  // namespace
}  // namespace weft::info
