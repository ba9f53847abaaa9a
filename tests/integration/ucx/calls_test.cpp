// SPDX-License-Identifier: Apache-2.0
// BU-1, BU-3, BU-6: calls over ucx://, with everything that rpc has, in both error modes.
#include <gmock/gmock.h>

#include <algorithm>

#include "integration/carrier_calls.hpp"
#include "integration/ucx/ucx_testing.hpp"
#include "support/pattern.hpp"

namespace weft::ucx_testing {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kLarge = std::size_t{8} << 20;

class UcxCalls : public UcxTest {
 protected:
  std::string carrier_of(Client& caller) {
    expect_alive(caller);
    return caller.remote_endpoint();
  }
};

INSTANTIATE_TEST_SUITE_P(Ucx, UcxCalls, ::testing::ValuesIn(kAllKinds), name_of);

TEST_P(UcxCalls, ManyInFlightAreAnswered) {
  expect_many_in_flight_are_answered(loop(), client(serve(transports()).urls().front()));
}

TEST_P(UcxCalls, StreamsGoInAllShapes) {
  expect_streams_of_all_shapes(loop(), client(serve(transports()).urls().front()));
}

// Below and above UcxOptions::rendezvous_bytes_min, of one part and of several, of odd lengths.
TEST_P(UcxCalls, AttachmentsOfEverySizeArriveWholeAndLandInTheCallersBuffer) {
  Client& caller = client(serve(transports()).urls().front());
  for (const std::size_t size :
       {std::size_t{1}, std::size_t{1000}, std::size_t{32} * 1024 - 1, std::size_t{32} * 1024,
        std::size_t{32} * 1024 + 1, std::size_t{1} << 20, (std::size_t{1} << 20) + 1, kLarge + 7}) {
    expect_both_ways(loop(), caller, size);
  }
}

TEST_P(UcxCalls, ListsOfBlocksGoThereAndBack) {
  Client& caller = client(serve(transports()).urls().front());
  for (const std::size_t size :
       {std::size_t{100}, std::size_t{4096}, std::size_t{40'000}, std::size_t{3} << 20}) {
    expect_lists_both_ways(loop(), caller, size, std::max<std::size_t>((std::size_t{2} << 20) / size, 3));
    if (HasFatalFailure()) return;
  }
}

TEST_P(UcxCalls, AttachmentsInBothDirectionsAtOnceDoNotMix) {
  Client& caller = client(serve(transports()).urls().front());
  const std::vector<std::byte> sent = pattern(kLarge);
  std::vector<Call<std::uint64_t>> up;
  std::vector<Call<std::uint64_t>> down;
  std::vector<std::vector<std::byte>> landings(8, std::vector<std::byte>(kLarge / 4));
  for (std::uint32_t i = 0; i < 8; ++i) {
    up.push_back(caller.start<sum_up>({.attachment = Bytes{sent}}));
    down.push_back(caller.start<produce>({.landing = landings[i]}, kLarge / 4, i));
  }
  for (std::uint32_t i = 0; i < 8; ++i) {
    EXPECT_EQ(wait_for(std::move(up[i])).value(), sum_of(sent));
    EXPECT_EQ(wait_for(std::move(down[i])).value(), kLarge / 4);
    EXPECT_TRUE(testing::same_bytes(landings[i], pattern(kLarge / 4, i)));
  }
}

// The memory is the caller's again as soon as the call is dropped: it is spoilt at once, and a neighbour's
// bytes arrive all the same.
TEST_P(UcxCalls, ACallDroppedWhileItsAttachmentIsSentLeavesItsNeighboursAlive) {
  Client& caller = client(serve(transports()).urls().front());
  expect_alive(caller);
  const std::vector<std::byte> kept = pattern(kLarge, 2);
  for (int turns = 0; turns < 40; turns += turns < 8 ? 1 : 8) {
    auto lost = std::make_unique<std::vector<std::byte>>(pattern(kLarge));
    {
      const Call<std::uint64_t> dropped = caller.start<sum_up>({.attachment = Bytes{*lost}});
      for (int turn = 0; turn < turns; ++turn) loop().run_once(0ms);
    }
    lost.reset();
    const Result<std::uint64_t> sum = wait_for(caller.start<sum_up>({.attachment = Bytes{kept}}));
    ASSERT_TRUE(sum.ok()) << turns << ": " << sum.status().to_string();
    ASSERT_EQ(*sum, sum_of(kept));
  }
  EXPECT_EQ(caller.stats().connections, 1u);
}

TEST_P(UcxCalls, ACallDroppedWhileItsAnswerLandsLeavesItsNeighboursAlive) {
  Client& caller = client(serve(transports()).urls().front());
  expect_alive(caller);
  for (int turns = 0; turns < 40; turns += turns < 8 ? 1 : 8) {
    std::vector<std::byte> landing(kLarge);
    {
      const Call<std::uint64_t> dropped = caller.start<produce>({.landing = landing}, kLarge, 1u);
      for (int turn = 0; turn < turns * 8; ++turn) loop().run_once(0ms);
    }
    std::ranges::fill(landing, std::byte{0xEE});
    expect_alive(caller);
    ASSERT_TRUE(testing::all_are(landing, std::byte{0xEE})) << turns;
  }
  EXPECT_EQ(caller.stats().connections, 1u);
}

TEST_P(UcxCalls, ACallTimedOutWhileItsAttachmentIsMovingEndsAlone) {
  Client& caller = client(serve(transports()).urls().front());
  expect_alive(caller);
  std::vector<std::byte> sent = pattern(kLarge * 4);
  for (const auto timeout : {1us, 100us, 500us, 1000us, 2000us, 4000us}) {
    std::vector<std::byte> landing(sent.size());
    const Result<std::uint64_t> size = wait_for(
        caller.start<give_back>({.timeout = timeout, .attachment = Bytes{sent}, .landing = landing}));
    EXPECT_TRUE(size.ok() || size.status().code() == StatusCode::kDeadlineExceeded)
        << size.status().to_string();
    expect_alive(caller);
  }
  EXPECT_EQ(caller.stats().connections, 1u);
}

TEST_P(UcxCalls, ClientsOfTcpAreServedByTheSameListener) {
  Server& server = serve(transports());
  Client& by_ucx = client(server.urls().front());
  Client& by_tcp = client(with_scheme(server, "tcp"));
  const std::vector<std::byte> sent = pattern(kLarge);
  for (Client* caller : {&by_ucx, &by_tcp}) {
    EXPECT_EQ(wait_for(caller->start<sum_up>({.attachment = Bytes{sent}})).value(), sum_of(sent));
  }
  EXPECT_EQ(server.stats().connections, 2u);
}

TEST_P(UcxCalls, AServerWithoutUcxIsRefusedWithWhatToDo) {
  Server& server = serve({}, false, "tcp://127.0.0.1:0");
  const Status status = wait_for(client(with_scheme(server, "ucx")).start<add>(1, 2)).status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition) << status.to_string();
  EXPECT_THAT(status.to_string(), HasSubstr("a tcp:// URL does without"));
}

TEST_P(UcxCalls, TheOtherErrorModeIsRefusedWithWhatToDo) {
  const bool peer = std::string_view{GetParam()}.starts_with("peer");
  for (const CarrierPolicy listening : {CarrierPolicy::kPrefer, CarrierPolicy::kRequire}) {
    TransportOptions other = transports(peer ? "none_tcp" : "peer_tcp");
    other.ucx.listening = listening;
    Server& server = serve(other);
    const Status status = wait_for(client(server.urls().front()).start<add>(1, 2)).status();
    EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition) << status.to_string();
    EXPECT_THAT(status.to_string(), HasSubstr("UcxOptions::error_mode"));
  }
}

TEST_P(UcxCalls, WhoOnlyPrefersUcxFallsBackToTcp) {
  const bool peer = std::string_view{GetParam()}.starts_with("peer");
  Server& server = serve(transports(peer ? "none_tcp" : "peer_tcp"));
  TransportOptions its = transports();
  its.ucx.connecting = CarrierPolicy::kPrefer;
  Client& caller = client(with_scheme(server, "tcp"), its);
  const std::vector<std::byte> sent = pattern(kLarge);
  EXPECT_EQ(wait_for(caller.start<sum_up>({.attachment = Bytes{sent}})).value(), sum_of(sent));
  EXPECT_EQ(caller.stats().connect_failures, 0u);
}

// UCX with nothing but one process's own transport: no way leads to anybody else.
TEST_P(UcxCalls, ACarrierThatLeadsNowhereIsRefusedOrDoneWithout) {
  TransportOptions nowhere = transports();
  nowhere.ucx.transports = {"self"};
  Server& server = serve(nowhere);
  const Status status = wait_for(client(server.urls().front()).start<add>(1, 2)).status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition) << status.to_string();
  TransportOptions its = transports();
  its.ucx.connecting = CarrierPolicy::kPrefer;
  expect_alive(client(with_scheme(server, "tcp"), its));
}

TEST_P(UcxCalls, ConnectionsComeAndGoWithoutATrace) {
  Server& server = serve(transports());
  std::size_t before = 0;
  for (int i = 0; i < 30; ++i) {
    Client& caller = client(server.urls().front());
    expect_alive(caller);
    end_clients();
    ASSERT_TRUE(eventually([&] { return server.stats().connections == 0; }));
    if (i == 5) before = open_descriptors();
  }
  // The last connection's worker may still be closing its own, then as in the end.
  EXPECT_TRUE(eventually([&] { return open_descriptors() <= before; })) << "F5";
}

TEST_P(UcxCalls, AStopUnderLoadEndsEveryCall) {
  Server& server = serve(transports());
  Client& caller = client(server.urls().front());
  expect_alive(caller);
  const std::vector<std::byte> sent = pattern(kLarge);
  std::vector<Call<std::uint64_t>> calls;
  for (int i = 0; i < 8; ++i) calls.push_back(caller.start<sum_up>({.attachment = Bytes{sent}}));
  ASSERT_TRUE(turn_until(loop(), [&] { return server.stats().calls > 1; }));
  std::thread stopper{[&] { server.stop(); }};
  for (auto& call : calls) {
    const Result<std::uint64_t> sum = wait_for(std::move(call));
    const bool refused = sum.status().code() == StatusCode::kUnavailable;
    EXPECT_TRUE(sum.ok() || refused) << sum.status().to_string();
  }
  ASSERT_TRUE(turn_until(loop(), [&] { return server.stats().connections == 0; }));
  stopper.join();
}

}  // namespace
}  // namespace weft::ucx_testing
