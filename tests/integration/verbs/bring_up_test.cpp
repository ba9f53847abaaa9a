// SPDX-License-Identifier: Apache-2.0
// CR-19, CR-20: every call to the devices that bringing RDMA up makes fails once, at either side. Whoever
// prefers RDMA does without, or calls again; nothing is left behind.
#include <gmock/gmock.h>

#include <cerrno>

#include "integration/verbs/locked_memory.hpp"
#include "integration/verbs/simulated_testing.hpp"

namespace weft::verbs_testing {
namespace {

using ::testing::HasSubstr;

// Not those that destroy: no device refuses the end of what is not in use.
constexpr Call kCallsThatMayFail[] = {
    Call::kGetDeviceList,     Call::kOpenDevice,    Call::kQueryDevice, Call::kQueryPort,
    Call::kQueryGid,          Call::kGetAsyncEvent, Call::kAllocPd,     Call::kRegMr,
    Call::kGetCqEvent,        Call::kCreateCq,      Call::kCreateSrq,   Call::kCreateQp,
    Call::kCreateCompChannel, Call::kModifyQp,      Call::kQueryQp,     Call::kPostSend,
    Call::kPostRecv,          Call::kPostSrqRecv,   Call::kPollCq,      Call::kReqNotifyCq,
    Call::kCreateAh};

class VerbsBringUp : public ::testing::TestWithParam<Call> {
 protected:
  static constexpr std::uint64_t kNth = 40;  // far more than most of them are called

  /// Tells whether there was a call of this number to fail.
  static bool fails(Call call, int error, std::uint64_t nth) {
    SimulatedWorld simulated;
    World& world = simulated.world;
    const VerbsOptions its = simulated.preferring();
    const std::string url = world.serve(its, World::Where::kHere, "tcp://127.0.0.1:0").urls().front();
    const std::uint64_t before = simulated.rdma.counters().of(call);
    simulated.rdma.fail(call, error, nth);
    Client& caller = world.client(url, its);
    const Result<int> first = world.wait_for(caller.start<add>({.timeout = 20s}, 1, 2));
    EXPECT_TRUE(first.ok() || first.status().code() == StatusCode::kUnavailable)
        << nth << ": " << first.status().to_string();
    simulated.rdma.heal(call);
    world.expect_alive(caller);
    const bool failed = simulated.rdma.counters().of(call) >= before + nth;
    simulated.end();
    return failed;
  }
};

std::string number_of(const ::testing::TestParamInfo<Call>& call) {
  return std::to_string(static_cast<unsigned>(call.param));
}

INSTANTIATE_TEST_SUITE_P(Verbs, VerbsBringUp, ::testing::ValuesIn(kCallsThatMayFail), number_of);

TEST_P(VerbsBringUp, ACallThatFailsOnceLeavesNothingBehindAndNoCallUnanswered) {
  for (const int error : {ENOMEM, EINVAL, EIO}) {
    for (std::uint64_t nth = 1; nth <= kNth && fails(GetParam(), error, nth); ++nth) {
      if (HasFailure()) return;
    }
  }
}

TEST_P(VerbsBringUp, AServerWhoseDevicesFailSaysSoWhenItStartsOrServesWithout) {
  SimulatedWorld simulated;
  for (const int error : {ENOMEM, EIO}) {
    simulated.rdma.fail_every(GetParam(), error);
    const Transports set = transports(simulated.options());
    Server server{{.listen = {"verbs://127.0.0.1:0"}, .threads = 0, .loop = &simulated.world.loop()}, set};
    register_all(server);
    const Status status = server.start().status();
    if (!status.ok()) {
      EXPECT_THAT(status.to_string(), HasSubstr("listening on verbs://"));
      continue;
    }
    Client& caller = simulated.world.client(with_scheme(server, "tcp"), simulated.options());
    simulated.world.expect_alive(caller);
    simulated.world.end_clients();
  }
  simulated.rdma.heal(GetParam());
}

class VerbsLockedMemory : public SimulatedTest {};
INSTANTIATE_TEST_SUITE_P(Verbs, VerbsLockedMemory, ::testing::ValuesIn(kKinds), name_of);

TEST_P(VerbsLockedMemory, TooLittleMemoryToLockIsSaidByTheNameOfTheLimit) {
  const LockedMemory limit{2 * 4096};
  ASSERT_TRUE(limit.lowered());
  rdma.limit_registered_bytes(2 * 4096);
  VerbsOptions its = preferring();
  its.block_bytes = 64 * 1024;
  const std::string url = world.serve(its, World::Where::kHere, "tcp://127.0.0.1:0").urls().front();
  const Status required =
      world.wait_for(world.client("verbs" + url.substr(3), its).start<add>(1, 2)).status();
  EXPECT_EQ(required.code(), StatusCode::kResourceExhausted) << required.to_string();
  EXPECT_THAT(required.to_string(), HasSubstr("RLIMIT_MEMLOCK allows, which is 8 KiB"));
  Client& preferred = world.client(url, its);
  world.expect_alive(preferred);
  EXPECT_THAT(world.way_to(url, its).report.reason, HasSubstr("RLIMIT_MEMLOCK"));
  EXPECT_EQ(preferred.stats().connections, 1u);
}

// Wherever the limit lies, a connection comes up with memory for both directions, or not at all: it never
// waits for memory that nobody will give back.
TEST_P(VerbsLockedMemory, AnyLimitGivesCallsByRdmaOrByTcp) {
  VerbsOptions its = preferring();
  its.block_bytes = 64 * 1024;
  const std::vector<std::byte> bytes = pattern(300'000);
  bool by_rdma = false;
  for (std::size_t limit = 0; limit < 20 && !by_rdma; ++limit) {
    rdma.limit_registered_bytes(limit * 32 * 1024);
    const std::string url = world.serve(its, World::Where::kHere, "tcp://127.0.0.1:0").urls().front();
    Client& caller = world.client(url, its);
    const auto sum = world.wait_for(caller.start<sum_up>({.timeout = 10s, .attachment = Bytes{bytes}}));
    EXPECT_TRUE(sum.ok() && *sum == sum_of(bytes)) << limit << ": " << sum.status().to_string();
    const auto back = world.wait_for(caller.start<give_back>({.timeout = 10s, .attachment = Bytes{bytes}}));
    EXPECT_TRUE(back.ok()) << limit << ": " << back.status().to_string();
    by_rdma = simulated.sends() > 0;
    world.end_clients();
    world.end_servers();
  }
  EXPECT_TRUE(by_rdma);
}

}  // namespace
}  // namespace weft::verbs_testing
