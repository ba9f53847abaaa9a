// SPDX-License-Identifier: Apache-2.0
// CR-15, CR-19: what goes wrong between rdma_cm and a carrier. On simulated devices, where every call can
// fail, every event be late, lost or another one, and either side die at every step.
#include <gmock/gmock.h>

#include <cerrno>

#include "integration/verbs/cm_testing.hpp"
#include "integration/verbs/simulated_testing.hpp"

namespace weft::verbs_testing {
namespace {

using ::testing::HasSubstr;
using Kind = verbs::CmEvent::Kind;

constexpr Call kCalls[] = {
    Call::kCmCreateEventChannel, Call::kCmGetEvent,     Call::kCmCreateId, Call::kCmBindAddr, Call::kCmListen,
    Call::kCmResolveAddr,        Call::kCmResolveRoute, Call::kCmConnect,  Call::kCmAccept,   Call::kCmRefuse,
    Call::kCmEstablish,          Call::kCmInitQpAttr,   Call::kModifyQp,   Call::kCreateQp,   Call::kCreateAh,
    Call::kOpenDevice,           Call::kQueryPort,      Call::kRegMr};

/// Servers and clients that connect by rdma_cm, on one loop.
class CmWorld : public SimulatedWorld {
 public:
  VerbsOptions options() { return by_cm(preferring()); }
  /// Options for what never comes.
  VerbsOptions impatient() {
    VerbsOptions its = options();
    its.bring_up_timeout = 50ms;
    return its;
  }
  std::string serve() { return serve(options()); }
  std::string serve(const VerbsOptions& its) {
    return world.serve(its, World::Where::kHere, "tcp://127.0.0.1:0").urls().front();
  }
  static std::string required(const std::string& url) { return "verbs" + url.substr(3); }
  Status call(const std::string& url, const VerbsOptions& its) {
    return world.wait_for(world.client(url, its).start<add>({.timeout = 20s}, 1, 2)).status();
  }
  testing::SimulatedCm& manager() { return rdma.manager(); }
};

class VerbsCmFailingCalls : public ::testing::TestWithParam<Call> {
 protected:
  static bool fails(Call call, int error, std::uint64_t nth) {
    CmWorld its;
    const std::string url = its.serve(its.impatient());
    const std::uint64_t before = its.rdma.counters().of(call);
    its.rdma.fail(call, error, nth);
    Client& caller = its.world.client(url, its.impatient());
    const Result<int> first = its.world.wait_for(caller.start<add>({.timeout = 20s}, 1, 2));
    EXPECT_TRUE(first.ok() || first.status().code() == StatusCode::kUnavailable)
        << nth << ": " << first.status().to_string();
    const bool failed = its.rdma.counters().of(call) >= before + nth;
    its.rdma.heal(call);
    its.world.expect_alive(caller);
    its.world.expect_alive(its.world.client(url, its.options()));
    its.end();
    return failed;
  }
};

INSTANTIATE_TEST_SUITE_P(Verbs, VerbsCmFailingCalls, ::testing::ValuesIn(kCalls),
                         [](const auto& call) { return std::to_string(static_cast<unsigned>(call.param)); });

TEST_P(VerbsCmFailingCalls, ACallThatFailsOnceLeavesNothingBehindAndNoCallUnanswered) {
  for (const int error : {ENOMEM, EINVAL, ENODEV}) {
    for (std::uint64_t nth = 1; nth <= 20 && fails(GetParam(), error, nth); ++nth) {
      if (HasFailure()) return;
    }
  }
}

class VerbsCmEvents : public ::testing::TestWithParam<Kind> {};

INSTANTIATE_TEST_SUITE_P(Verbs, VerbsCmEvents,
                         ::testing::Values(Kind::kAddressResolved, Kind::kRouteResolved, Kind::kRequest,
                                           Kind::kResponse, Kind::kEstablished),
                         [](const auto& kind) { return std::to_string(static_cast<unsigned>(kind.param)); });

TEST_P(VerbsCmEvents, AnEventThatNeverComesOrIsBadNewsLeavesTcpOrAClearStatus) {
  for (const Kind into :
       {Kind::kFailed, Kind::kRejected, Kind::kDisconnected, Kind::kDeviceGone, Kind::kOther}) {
    if (GetParam() == Kind::kRequest) break;
    CmWorld its;
    const std::string url = its.serve(its.impatient());
    its.manager().turn(GetParam(), into, ETIMEDOUT);
    Client& caller = its.world.client(url, its.impatient());
    const Status first = its.world.wait_for(caller.start<add>({.timeout = 20s}, 1, 2)).status();
    EXPECT_TRUE(first.ok() || first.code() == StatusCode::kUnavailable) << first.to_string();
    its.world.expect_alive(caller);
    its.end();
  }
  CmWorld its;
  const std::string url = its.serve(its.impatient());
  its.manager().lose(GetParam());
  Client& caller = its.world.client(url, its.impatient());
  its.world.expect_alive(caller);
  EXPECT_EQ(caller.stats().connections, 1u);
  its.end();
}

TEST(VerbsCm, WhyTheSystemFindsNoWayIsSaid) {
  CmWorld its;
  const std::string url = its.serve();
  its.manager().turn(Kind::kAddressResolved, Kind::kFailed, ENODEV);
  const Status failed = its.call(its.required(url), its.options());
  EXPECT_EQ(failed.code(), StatusCode::kFailedPrecondition) << failed.to_string();
  EXPECT_THAT(failed.to_string(), HasSubstr("is there RDMA, and a route"));
  its.rdma.fail_every(Call::kCmResolveAddr, ENODEV);
  EXPECT_THAT(its.call(its.required(url), its.options()).to_string(), HasSubstr("no RDMA device leads to"));
  EXPECT_TRUE(its.call(url, its.options()).ok());
  EXPECT_EQ(its.sends(), 0u);
}

TEST(VerbsCm, ABuildWithoutLibrdmacmSaysSoOrDoesWithout) {
  CmWorld its;
  its.rdma.take_manager_away();
  const std::string url = its.serve(its.preferring());
  EXPECT_THAT(its.call(its.required(url), its.options()).to_string(), HasSubstr("install librdmacm-dev"));
  EXPECT_TRUE(its.call(url, its.options()).ok());
  const Transports set = transports(its.options());
  Server server{{.listen = {"verbs://127.0.0.1:0"}}, set};
  EXPECT_THAT(server.start().status().to_string(), HasSubstr("install librdmacm-dev"));
}

TEST(VerbsCm, ABaseCarrierWithoutAnIpAddressHasNoRoute) {
  CmWorld its;
  const std::string path = "unix://" + ::testing::TempDir() + "weft_cm_" + std::to_string(::getpid());
  its.world.serve(its.options(), World::Where::kHere, path);
  EXPECT_TRUE(its.call(path, its.options()).ok());
  EXPECT_THAT(its.world.way_to(path, its.options()).report.reason, HasSubstr("needs a connection that goes"));
}

TEST(VerbsCm, TheRouteChoosesTheDeviceAndOneThatIsNotNamedIsRefused) {
  CmWorld its;
  const std::string url = its.serve();
  its.manager().route("sim1", "sim0");
  EXPECT_THAT(its.world.way_to(url, its.options()).report.description,
              HasSubstr("sim1, port 1, from 10.0.0.2"));
  VerbsOptions named = its.options();
  named.devices = {"sim0"};
  EXPECT_THAT(its.world.way_to(url, named).report.reason, HasSubstr("leads over sim1"));
  EXPECT_TRUE(its.call(url, named).ok());
  named.devices = {};
  named.port = 2;
  EXPECT_THAT(its.world.way_to(url, named).report.reason, HasSubstr("not VerbsOptions::port"));
}

TEST(VerbsCm, InfinibandPortsAreConnectedToo) {
  CmWorld its;
  SimulatedRdma infiniband{{testing::infiniband_device("ib0", 7), testing::infiniband_device("ib1", 8)}};
  VerbsOptions options = its.options();
  options.driver = &infiniband;
  const std::string url = its.serve(options);
  EXPECT_THAT(its.world.way_to(url, options).report.description, HasSubstr("ib0, port 1"));
  EXPECT_TRUE(its.call(its.required(url), options).ok());
  its.world.end();
  EXPECT_EQ(infiniband.live().total(), 0u);
}

// As when a device reports a failure: the carrier ends, and the next call connects anew.
TEST(VerbsCmEndings, ADeviceThatGoesAwayEndsItsCarriers) {
  CmWorld its;
  const std::string url = its.required(its.serve());
  Client& caller = its.world.client(url, its.options());
  its.world.expect_alive(caller);
  weft::Call<int> lost = caller.start<wait_for_ever>(1);
  its.world.loop().run_once(0ms);
  its.manager().raise(Kind::kDeviceGone);
  const Status status = its.world.wait_for(std::move(lost)).status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable) << status.to_string();
  EXPECT_TRUE(turn_until(its.world.loop(), [&] { return its.manager().ids() <= 1; }))
      << "the listener is left";
  its.world.expect_alive(caller);
  EXPECT_EQ(caller.stats().connections, 2u);
}

// It may come before the base carrier's end, which says whether the peer closed or died.
TEST(VerbsCmEndings, ThatThePeerDisconnectedIsForTheBaseCarrierToJudge) {
  CmWorld its;
  const std::string url = its.required(its.serve());
  Client& caller = its.world.client(url, its.options());
  its.world.expect_alive(caller);
  its.manager().raise(Kind::kDisconnected);
  EXPECT_TRUE(turn_until(its.world.loop(), [&] { return its.manager().ids() <= 1; }))
      << "the listener is left";
  its.world.expect_alive(caller);
  EXPECT_EQ(caller.stats().connections, 1u);
}

// After each event one side goes, in the middle of whatever it was about.
TEST(VerbsCmEndings, EitherSideMayDieAtEveryStep) {
  for (const bool server_dies : {false, true}) {
    for (int steps = 0; steps < 8; ++steps) {
      CmWorld its;
      const std::string url = its.serve(its.impatient());
      its.manager().hold();
      Client& caller = its.world.client(url, its.impatient());
      weft::Call<int> call = caller.start<add>({.timeout = 20s}, 1, 2);
      for (int step = 0; step < steps; ++step) {
        for (int turn = 0; turn < 20; ++turn) its.world.loop().run_once(0ms);
        its.manager().step();
      }
      for (int turn = 0; turn < 20; ++turn) its.world.loop().run_once(0ms);
      if (server_dies) its.world.end_servers();
      its.manager().release();
      if (server_dies) {
        const Status status = its.world.wait_for(std::move(call)).status();
        EXPECT_TRUE(status.ok() || status.code() == StatusCode::kUnavailable) << status.to_string();
      } else {
        call = {};
        its.world.end_clients();
      }
      if (!server_dies) its.world.expect_alive(its.world.client(url, its.options()));
      its.end();
      if (::testing::Test::HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace weft::verbs_testing
