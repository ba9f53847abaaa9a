// SPDX-License-Identifier: Apache-2.0
// CR-15: calls by RDMA, with everything that rpc has, and beside clients without it.
#include <gmock/gmock.h>

#include <algorithm>

#include "integration/carrier_calls.hpp"
#include "integration/verbs/verbs_testing.hpp"
#include "support/pattern.hpp"

namespace weft::verbs_testing {
namespace {

using ::testing::HasSubstr;

class VerbsCalls : public VerbsTest {
 protected:
  /// True when credit is so little that each few messages take a turn of both threads.
  static bool tight() { return std::string_view{GetParam()} == "tight"; }
  static std::size_t large() { return tight() ? std::size_t{128} << 10 : std::size_t{2} << 20; }
  /// A client of a server, by RDMA, with nothing else.
  Client& connected() { return world.client(world.serve(options()).urls().front(), options()); }
  void expect_both_ways(Client& caller, std::size_t size) {
    carrier_testing::expect_both_ways(loop(), caller, size);
  }
};

INSTANTIATE_TEST_SUITE_P(Verbs, VerbsCalls, ::testing::ValuesIn(kKinds), name_of);

TEST_P(VerbsCalls, OneOptionOnEachSideSwitchesRdmaOnAndTcpIsServedOnTheSamePort) {
  Server& server = world.serve(preferring(), World::Where::kOwnThread, "tcp://127.0.0.1:0");
  const std::string url = server.urls().front();
  EXPECT_THAT(world.way_to(url, preferring()).report.description, HasSubstr("reliable connection"));
  const World::Way without = world.way_to(url, options());
  EXPECT_EQ(without.report.description, "") << without.end.to_string();
  EXPECT_EQ(without.report.reason, "") << "nobody asked for RDMA";
  for (Client* caller : {&world.client(url, preferring()), &world.client(url, options())}) {
    expect_both_ways(*caller, 100'000);
    EXPECT_EQ(caller->stats().connections, 1u);
  }
}

TEST_P(VerbsCalls, AVerbsUrlSwitchesRdmaOnAndTcpIsServedOnTheSamePort) {
  Server& server = world.serve(options());
  EXPECT_TRUE(server.urls().front().starts_with("verbs://"));
  EXPECT_THAT(world.way_to(server.urls().front(), options()).report.description, HasSubstr("MTU"));
  expect_both_ways(world.client(server.urls().front(), options()), large());
  expect_both_ways(world.client(with_scheme(server, "tcp"), options()), large());
  EXPECT_EQ(server.stats().connections, 2u);
}

TEST_P(VerbsCalls, ManyInFlightAreAnswered) {
  expect_many_in_flight_are_answered(loop(), connected());
}

TEST_P(VerbsCalls, StreamsGoInAllShapes) {
  // Where room is tight seventy items take a minute in the emulated machine.
  expect_streams_of_all_shapes(loop(), connected(), tight() ? 12 : 70);
}

// Around the sizes of inline, message and block, and of odd lengths.
TEST_P(VerbsCalls, AttachmentsOfEverySizeArriveWholeAndLandInTheCallersBuffer) {
  Client& caller = connected();
  constexpr std::size_t kMessage = 16 * 1024;
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{100}, std::size_t{1000}, std::size_t{1024}, kMessage - 16,
        kMessage, kMessage + 1, std::size_t{256} * 1024 + 3,
        (tight() ? large() : std::size_t{9} << 20) + 7}) {
    expect_both_ways(caller, size);
    if (HasFatalFailure()) return;
  }
  EXPECT_EQ(caller.stats().connections, 1u);
}

// The memory is registered, so that parts of blocks are offered, and some reach over the ends of others.
TEST_P(VerbsCalls, ListsOfBlocksGoThereAndBack) {
  Client& caller = connected();
  for (const std::size_t size : {std::size_t{100}, std::size_t{4096}, std::size_t{40'000}, large()}) {
    const std::size_t blocks = std::clamp<std::size_t>(large() / size, 3, 300);
    carrier_testing::expect_lists_both_ways(loop(), caller, size, blocks);
    if (HasFatalFailure()) return;
  }
  EXPECT_EQ(caller.stats().connections, 1u);
}

TEST_P(VerbsCalls, AttachmentsInBothDirectionsAtOnceDoNotMix) {
  Client& caller = connected();
  const std::vector<std::byte> sent = pattern(large());
  std::vector<Call<std::uint64_t>> up;
  std::vector<Call<std::uint64_t>> down;
  std::vector<std::vector<std::byte>> landings(8, std::vector<std::byte>(large() / 4));
  for (std::uint32_t i = 0; i < 8; ++i) {
    up.push_back(caller.start<sum_up>({.attachment = Bytes{sent}}));
    down.push_back(caller.start<produce>({.landing = landings[i]}, large() / 4, i));
  }
  for (std::uint32_t i = 0; i < 8; ++i) {
    EXPECT_EQ(world.wait_for(std::move(up[i])).value(), sum_of(sent));
    EXPECT_EQ(world.wait_for(std::move(down[i])).value(), large() / 4);
    EXPECT_TRUE(testing::same_bytes(landings[i], pattern(large() / 4, i)));
  }
}

// The memory is the caller's again as soon as the call is dropped: it is spoilt at once, and a neighbour's
// bytes arrive all the same.
TEST_P(VerbsCalls, ACallDroppedInFlightLeavesItsNeighboursAlive) {
  Client& caller = connected();
  world.expect_alive(caller);
  const std::vector<std::byte> kept = pattern(large(), 2);
  for (int turns = 0; turns < 32; turns += turns < 8 ? 1 : 8) {
    auto lost = std::make_unique<std::vector<std::byte>>(pattern(large()));
    std::vector<std::byte> landing(large());
    {
      const Call<std::uint64_t> up = caller.start<sum_up>({.attachment = Bytes{*lost}});
      const Call<std::uint64_t> down = caller.start<produce>({.landing = landing}, large(), 1u);
      for (int turn = 0; turn < turns; ++turn) loop().run_once(0ms);
    }
    lost.reset();
    std::ranges::fill(landing, std::byte{0xEE});
    const Result<std::uint64_t> sum = world.wait_for(caller.start<sum_up>({.attachment = Bytes{kept}}));
    ASSERT_TRUE(sum.ok()) << turns << ": " << sum.status().to_string();
    ASSERT_EQ(*sum, sum_of(kept));
    ASSERT_TRUE(testing::all_are(landing, std::byte{0xEE})) << turns;
  }
  EXPECT_EQ(caller.stats().connections, 1u);
}

TEST_P(VerbsCalls, ADeadlineThatPassesInFlightEndsItsCallAlone) {
  Client& caller = connected();
  world.expect_alive(caller);
  const Status never = world.wait_for(caller.start<wait_for_ever>({.timeout = 10ms}, 1)).status();
  EXPECT_EQ(never.code(), StatusCode::kDeadlineExceeded) << never.to_string();
  const std::vector<std::byte> sent = pattern(large() * 4);
  for (const auto timeout : {1us, 100us, 500us, 2000us, 8000us}) {
    std::vector<std::byte> landing(sent.size());
    const Result<std::uint64_t> size = world.wait_for(
        caller.start<give_back>({.timeout = timeout, .attachment = Bytes{sent}, .landing = landing}));
    // A server that had no processor meanwhile does not begin it any more.
    const bool behind = size.status().code() == StatusCode::kResourceExhausted && size.status().unprocessed();
    EXPECT_TRUE(size.ok() || behind || size.status().code() == StatusCode::kDeadlineExceeded)
        << size.status().to_string();
    world.expect_alive(caller);
  }
  EXPECT_EQ(caller.stats().connections, 1u);
}

TEST_P(VerbsCalls, ACancelledCallEndsAtTheServerToo) {
  Server& server = world.serve(options());
  Client& caller = world.client(server.urls().front(), options());
  world.expect_alive(caller);
  {
    const Call<int> dropped = caller.start<wait_for_ever>(1);
    ASSERT_TRUE(turn_until(loop(), [&] { return server.stats().calls_running == 1; }));
  }
  EXPECT_TRUE(turn_until(loop(), [&] { return server.stats().calls_running == 0; }));
  world.expect_alive(caller);
}

TEST_P(VerbsCalls, ConnectionsComeAndGoWithoutATrace) {
  Server& server = world.serve(options());
  std::size_t before = 0;
  for (int i = 0; i < 20; ++i) {
    world.expect_alive(world.client(server.urls().front(), options()));
    world.end_clients();
    ASSERT_TRUE(eventually([&] { return server.stats().connections == 0; }));
    if (i == 5) before = faults::open_descriptors();
  }
  // The device of the last connection may still be closing.
  EXPECT_TRUE(eventually([&] { return faults::open_descriptors() <= before; })) << "F5";
}

TEST_P(VerbsCalls, AStopUnderLoadEndsEveryCall) {
  Server& server = world.serve(options());
  Client& caller = world.client(server.urls().front(), options());
  world.expect_alive(caller);
  const std::vector<std::byte> sent = pattern(large());
  std::vector<Call<std::uint64_t>> calls;
  for (int i = 0; i < 8; ++i) calls.push_back(caller.start<sum_up>({.attachment = Bytes{sent}}));
  ASSERT_TRUE(turn_until(loop(), [&] { return server.stats().calls > 1; }));
  std::thread stopper{[&] { server.stop(); }};
  for (auto& call : calls) {
    const Result<std::uint64_t> sum = world.wait_for(std::move(call));
    EXPECT_TRUE(sum.ok() || sum.status().code() == StatusCode::kUnavailable) << sum.status().to_string();
  }
  ASSERT_TRUE(turn_until(loop(), [&] { return server.stats().connections == 0; }));
  stopper.join();
}

TEST_P(VerbsCalls, APeerWithoutRdmaIsRefusedWithWhatToDoOrDoneWithout) {
  Server& server = world.serve(options(), World::Where::kOwnThread, "tcp://127.0.0.1:0");
  const Status status =
      world.wait_for(world.client(with_scheme(server, "verbs"), options()).start<add>(1, 2)).status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition) << status.to_string();
  EXPECT_THAT(status.to_string(), HasSubstr("a tcp:// URL does without"));
  Client& preferred = world.client(server.urls().front(), preferring());
  world.expect_alive(preferred);
  EXPECT_EQ(preferred.stats().connect_failures, 0u);
}

TEST_P(VerbsCalls, AServerThatRequiresRdmaHasClientsWithoutItSayWhatToDo) {
  VerbsOptions strict = options();
  strict.listening = CarrierPolicy::kRequire;
  Server& server = world.serve(strict);
  const Status status =
      world.wait_for(world.client(with_scheme(server, "tcp"), options()).start<add>(1, 2)).status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition) << status.to_string();
  EXPECT_THAT(status.to_string(), HasSubstr("verbs:// URL"));
}

// The server's end comes up; the client's is refused by its device. Every call of those that waited is
// answered, on the connection that they waited for.
TEST_P(VerbsCalls, WhoCannotBringRdmaUpFallsBackToTcpOnTheSameConnection) {
  Server& server = world.serve(preferring(), World::Where::kOwnThread, "tcp://127.0.0.1:0");
  VerbsOptions wrong = preferring();
  wrong.gid_index = 200;
  const World::Way way = world.way_to(server.urls().front(), wrong);
  EXPECT_EQ(way.report.description, "");
  EXPECT_THAT(way.report.reason, HasSubstr("there is no GID "));
  Client& caller = world.client(server.urls().front(), wrong);
  std::vector<Call<int>> calls;
  for (int i = 0; i < 100; ++i) calls.push_back(caller.start<add>(i, 1));
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(world.wait_for(std::move(calls[static_cast<std::size_t>(i)])).value(), i + 1);
  }
  EXPECT_EQ(caller.stats().connections, 1u);
  EXPECT_EQ(caller.stats().connect_failures, 0u);

  const Status required =
      world.wait_for(world.client(with_scheme(server, "verbs"), wrong).start<add>(1, 2)).status();
  EXPECT_EQ(required.code(), StatusCode::kFailedPrecondition) << required.to_string();
  EXPECT_THAT(required.to_string(), HasSubstr("there is no GID "));
}

}  // namespace
}  // namespace weft::verbs_testing
