// SPDX-License-Identifier: Apache-2.0
// BU-4: the peer is killed with calls in flight, in a loop; F1, F2, F4, F5. Each run of a test kills kKills
// peers. A thousand of each: --gtest_repeat=40.
// Capabilities: BU-5.
#include <algorithm>
#include <cstdio>
#include <thread>

#include "integration/deaths_testing.hpp"
#include "integration/ucx/ucx_testing.hpp"
#include "support/pattern.hpp"

namespace weft::ucx_testing {
namespace {

constexpr int kKills = 25;
constexpr std::size_t kLarge = std::size_t{16} << 20;

using Clock = std::chrono::steady_clock;

class UcxDeaths : public UcxTest {
 protected:
  UcxDeaths() : neighbour_server_(serve(transports())), neighbour_(client(neighbour_server_.urls().front())) {
    expect_alive(neighbour_);
  }
  /// Takes part in everything, and must notice nothing.
  Call<std::uint64_t> neighbours_call() {
    return neighbour_.start<give_back>({.attachment = Bytes{neighbours_bytes_}});
  }
  void expect_neighbour_fine(Call<std::uint64_t> call) {
    const Result<std::uint64_t> size = wait_for(std::move(call));
    EXPECT_TRUE(size.ok() && *size == neighbours_bytes_.size()) << "F4: " << size.status().to_string();
    expect_alive(neighbour_);
    EXPECT_EQ(neighbour_.stats().connections, 1u) << "F4";
  }
  /// UCX 1.13 sometimes never ends what it receives by rendezvous over shared memory from a peer that is
  /// killed, and a forced close of its endpoint does not help: then the worker is given up for the memory,
  /// and the loop's other connections over it have to be made again.
  static bool may_lose_its_worker() { return std::string_view{GetParam()} == "peer_shm"; }
  /// Tells whether `caller`, whose connection was perhaps given up beneath its call, is served by that or the
  /// next one.
  bool is_served(Client& caller) {
    return turn_until(loop(), [&] { return wait_for(caller.start<add>(20, 22)).ok(); });
  }
  Server& neighbour_server_;
  Client& neighbour_;
  const std::vector<std::byte> neighbours_bytes_ = pattern(std::size_t{1} << 20);
};

INSTANTIATE_TEST_SUITE_P(Ucx, UcxDeaths, ::testing::ValuesIn(kAllKinds), name_of);

TEST_P(UcxDeaths, AServerThatIsKilledFailsEachCallInFlightOnce) {
  Times times;
  std::size_t descriptors = 0;
  for (int i = 0; i < kKills; ++i) {
    Victim victim{WEFT_UCX_VICTIM, {"server", GetParam()}};
    {
      Client caller{loop(), {.connect = victim.read_line(), .logger = &logger()}, transports()};
      ASSERT_NO_FATAL_FAILURE(expect_alive(caller));
      Calls calls{kLarge};
      calls.start(caller);
      for (int turn = 0; turn < i * 8; ++turn) loop().run_once(0ms);
      Call<std::uint64_t> neighbours = neighbours_call();
      const auto killed_at = Clock::now();
      victim.kill();
      ASSERT_TRUE(turn_until(loop(), [&] { return calls.ended(); })) << "F1";
      times.add(Clock::now() - killed_at);
      calls.expect_all_lost(loop());
      expect_neighbour_fine(std::move(neighbours));
    }
    if (i == 2) descriptors = open_descriptors();
    EXPECT_TRUE(i < 3 || open_descriptors() == descriptors) << "F5";
    if (HasFailure()) return;
  }
  times.print("from the kill to the end of the last call");
}

TEST_P(UcxDeaths, AClientThatIsKilledLeavesNothingBehind) {
  Times times;
  Server& server = serve(transports(), true);
  // Of the same loop as the victims, in error mode peer of the same worker too.
  Client& close_by = client(server.urls().front());
  expect_alive(close_by);
  std::size_t descriptors = 0;
  for (int i = 0; i < kKills; ++i) {
    const bool exchanges = i % 2 == 1;
    Victim victim{WEFT_UCX_VICTIM, {exchanges ? "exchange" : "client", GetParam(), server.urls().front()}};
    const std::uint64_t before = server.stats().calls;
    const std::uint64_t calls = exchanges ? 2 : 18;
    ASSERT_TRUE(turn_until(loop(), [&] { return server.stats().calls >= before + calls; }));
    for (int turn = 0; turn < i * 8; ++turn) loop().run_once(0ms);
    Call<std::uint64_t> neighbours = neighbours_call();
    const auto killed_at = Clock::now();
    victim.kill();
    ASSERT_TRUE(turn_until(loop(), [&] {
      return server.stats().connections <= 1 && server.stats().calls_running == 0;
    })) << "F1, F5";
    times.add(Clock::now() - killed_at);
    expect_neighbour_fine(std::move(neighbours));
    if (may_lose_its_worker()) {
      EXPECT_TRUE(is_served(close_by)) << "F4, kill " << i;
    } else {
      expect_alive(close_by);
    }
    EXPECT_TRUE(may_lose_its_worker() || close_by.stats().connections == 1) << "F4, kill " << i;
    if (i == 2) descriptors = open_descriptors();
    EXPECT_TRUE(i < 3 || open_descriptors() == descriptors) << "F5";
    if (HasFailure()) return;
  }
  times.print("from the kill to the end of the last handler");
  std::printf("connections beside the victim's that were lost: %d\n",
              static_cast<int>(close_by.stats().connections) - 1);
}

// It has taken a place in the queue of the server's worker, which all of the loop's peers share, and never
// fills it: nothing that came after it can be received.
TEST_P(UcxDeaths, AClientThatIsKilledInTheMiddleOfAMessageBlocksNobodyForLong) {
  if (std::string_view{GetParam()} != "peer_shm") return;  // elsewhere no queue is shared
  Server& server = serve(transports(), true);
  Client& before = client(server.urls().front());
  expect_alive(before);
  Victim victim{WEFT_UCX_VICTIM, {"stuck", GetParam(), server.urls().front()}};
  std::thread waiter{[&] { EXPECT_TRUE(victim.was_killed()); }};
  ASSERT_TRUE(turn_until(loop(), [&] { return server.stats().connections == 2; }));
  ASSERT_TRUE(turn_until(loop(), [&] { return server.stats().connections <= 1; })) << "F1";
  waiter.join();
  Client& after = client(server.urls().front());
  EXPECT_TRUE(is_served(after)) << "F4";
  EXPECT_TRUE(is_served(before)) << "F4";
  EXPECT_GE(before.stats().connections, 2u);
}

// Stopped, not dead: nobody says so, and UCX gets no answer. What the caller takes back comes back all the
// same.
class UcxStoppedPeers : public UcxDeaths {
 protected:
  /// The longest that one turn, or one drop, blocked the loop.
  template <typename Work>
  void timed(Work work) {
    const auto begin = Clock::now();
    work();
    longest_.add(Clock::now() - begin);
  }
  static AttachmentView in_blocks(Bytes memory) {
    return AttachmentView::strided(memory, memory.size() / kApart, kBlock, kApart);
  }
  static LandingView in_blocks(MutableBytes memory) {
    return LandingView::strided(memory, memory.size() / kApart, kBlock, kApart);
  }
  static constexpr std::size_t kBlock = 4096;
  static constexpr std::size_t kApart = 2 * kBlock;
  Times longest_;
};

INSTANTIATE_TEST_SUITE_P(Ucx, UcxStoppedPeers, ::testing::ValuesIn(kAllKinds), name_of);

TEST_P(UcxStoppedPeers, AnAttachmentToAStoppedPeerComesBackWhenItsCallIsDropped) {
  for (int i = 0; i < 6; ++i) {
    Victim victim{WEFT_UCX_VICTIM, {"server", GetParam()}};
    Client caller{loop(), {.connect = victim.read_line(), .logger = &logger()}, transports()};
    ASSERT_NO_FATAL_FAILURE(expect_alive(caller));
    auto sent = std::make_unique<std::vector<std::byte>>(pattern(kLarge));
    {
      Call<std::uint64_t> call = caller.start<sum_up>(
          {.attachment = i % 2 == 0 ? AttachmentView{Bytes{*sent}} : in_blocks(Bytes{*sent})});
      for (int turn = 0; turn < i * 8; ++turn) loop().run_once(0ms);
      victim.stop();
      for (int turn = 0; turn < 4; ++turn) timed([&] { loop().run_once(1ms); });
      Call<std::uint64_t> neighbours = neighbours_call();
      timed([&] { call = {}; });
      sent.reset();
      expect_neighbour_fine(std::move(neighbours));
    }
    victim.go_on();
    expect_alive(caller);  // by the same connection, or by another one
    if (HasFailure()) return;
  }
  longest_.print("one turn, or one drop");
}

TEST_P(UcxStoppedPeers, ALandingFromAStoppedPeerComesBackWhenItsCallIsDropped) {
  for (int i = 0; i < 6; ++i) {
    Victim victim{WEFT_UCX_VICTIM, {"server", GetParam()}};
    Client caller{loop(), {.connect = victim.read_line(), .logger = &logger()}, transports()};
    ASSERT_NO_FATAL_FAILURE(expect_alive(caller));
    std::vector<std::byte> landing(kLarge);
    {
      const LandingView place = i % 2 == 0 ? LandingView{landing} : in_blocks(MutableBytes{landing});
      Call<std::uint64_t> call = caller.start<produce>({.landing = place}, std::uint64_t{place.bytes()}, 1u);
      for (int turn = 0; turn < 400 && landing[98'304 * static_cast<std::size_t>(i)] == std::byte{0};
           ++turn) {
        loop().run_once(1ms);
      }
      victim.stop();
      for (int turn = 0; turn < 4; ++turn) timed([&] { loop().run_once(1ms); });
      Call<std::uint64_t> neighbours = neighbours_call();
      timed([&] { call = {}; });
      std::ranges::fill(landing, std::byte{0xEE});
      expect_neighbour_fine(std::move(neighbours));
    }
    victim.go_on();
    expect_alive(caller);
    EXPECT_TRUE(testing::all_are(landing, std::byte{0xEE}));
    if (HasFailure()) return;
  }
  longest_.print("one turn, or one drop");
}

}  // namespace
}  // namespace weft::ucx_testing
