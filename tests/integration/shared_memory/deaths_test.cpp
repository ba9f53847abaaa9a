// SPDX-License-Identifier: Apache-2.0
// Peers by shared memory that are killed or stopped with calls in flight; F1, F2, F4, F5. Each run of a test
// kills kKills peers, each at another moment.
#include <algorithm>
#include <chrono>

#include "integration/deaths_testing.hpp"
#include "integration/shared_memory/shared_memory_testing.hpp"
#include "support/pattern.hpp"

namespace weft::shared_memory_testing {
namespace {

constexpr int kKills = 40;
constexpr std::size_t kLarge = std::size_t{4} << 20;

class SharedMemoryDeaths : public SharedMemoryTest {
 protected:
  /// Another connection of the same loop, which must notice nothing.
  Server& neighbour_server_ = serve();
  Client& neighbour_ = client(neighbour_server_.urls().front());
  void expect_neighbour_fine() {
    expect_by_memory(neighbour_);
    EXPECT_EQ(neighbour_.stats().connections, 1u) << "F4";
  }
};

TEST_F(SharedMemoryDeaths, AServerThatIsKilledFailsEachCallInFlightOnce) {
  std::size_t descriptors = 0;
  for (int i = 0; i < kKills; ++i) {
    SocketPath path;
    Victim victim{WEFT_SHARED_MEMORY_VICTIM, {"server", path.url()}};
    {
      Client caller{loop(), {.connect = victim.read_line()}, by_memory(CarrierPolicy::kRequire)};
      ASSERT_NO_FATAL_FAILURE(expect_by_memory(caller));
      Calls calls{kLarge};
      calls.start(caller);
      for (int turn = 0; turn < i * 3; ++turn) loop().run_once(0ms);
      victim.kill();
      ASSERT_TRUE(turn_until(loop(), [&] { return calls.ended(); })) << "F1";
      calls.expect_all_lost(loop());
      expect_neighbour_fine();
    }
    if (i == 2) descriptors = open_descriptors();
    EXPECT_TRUE(i < 3 || open_descriptors() == descriptors) << "F5";
    if (HasFailure()) return;
  }
}

TEST_F(SharedMemoryDeaths, AClientThatIsKilledLeavesNothingBehind) {
  Server& server = serve(by_memory(CarrierPolicy::kRequire), true);
  std::size_t descriptors = 0;
  for (int i = 0; i < kKills; ++i) {
    Victim victim{WEFT_SHARED_MEMORY_VICTIM, {"client", server.urls().front()}};
    const std::uint64_t before = server.stats().calls;
    ASSERT_TRUE(turn_until(loop(), [&] { return server.stats().calls >= before + 18; }));
    for (int turn = 0; turn < i * 3; ++turn) loop().run_once(0ms);
    victim.kill();
    ASSERT_TRUE(turn_until(loop(), [&] {
      return server.stats().connections == 0 && server.stats().calls_running == 0;
    })) << "F1, F5";
    expect_neighbour_fine();
    if (i == 2) descriptors = open_descriptors();
    EXPECT_TRUE(i < 3 || open_descriptors() == descriptors) << "F5";
    if (HasFailure()) return;
  }
}

// Killed while it starts: somewhere between its connection and its first answers.
TEST_F(SharedMemoryDeaths, AClientThatIsKilledWhileMemoryIsBroughtUpLeavesNothingBehind) {
  Server& server = serve(by_memory(CarrierPolicy::kRequire), true);
  std::size_t descriptors = 0;
  for (int i = 0; i < kKills; ++i) {
    Victim victim{WEFT_SHARED_MEMORY_VICTIM, {"client", server.urls().front()}};
    ASSERT_TRUE(turn_until(loop(), [&] { return server.stats().connections == 1; }));
    for (int turn = 0; turn < i; ++turn) loop().run_once(0ms);
    victim.kill();
    ASSERT_TRUE(turn_until(loop(), [&] { return server.stats().connections == 0; })) << "F1, F5";
    if (i == 2) descriptors = open_descriptors();
    EXPECT_TRUE(i < 3 || open_descriptors() == descriptors) << "F5";
    if (HasFailure()) return;
  }
  expect_neighbour_fine();
}

// Stopped, not dead: nobody says so. The neighbour goes on, and so do the calls when the peer does.
TEST_F(SharedMemoryDeaths, CallsToAStoppedServerWaitUntilItGoesOn) {
  SocketPath path;
  Victim victim{WEFT_SHARED_MEMORY_VICTIM, {"server", path.url()}};
  Client& caller = client(victim.read_line());
  expect_by_memory(caller);
  victim.stop();
  const std::vector<std::byte> bytes = pattern(kLarge);
  Call<std::uint64_t> large = caller.start<sum_up>({.attachment = Bytes{bytes}});
  std::vector<Call<int>> small;
  for (int i = 0; i < 100; ++i) small.push_back(caller.start<add>(i, 1));
  for (int i = 0; i < 20; ++i) loop().run_once(1ms);
  expect_neighbour_fine();
  victim.go_on();
  EXPECT_EQ(wait_for(std::move(large)).value(), sum_of(bytes));
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(wait_for(std::move(small[static_cast<std::size_t>(i)])).value(), i + 1);
  }
  EXPECT_EQ(caller.stats().connections, 1u);
}

TEST_F(SharedMemoryDeaths, MemoryGivenToAStoppedServerComesBackWhenItsCallIsDropped) {
  SocketPath path;
  Victim victim{WEFT_SHARED_MEMORY_VICTIM, {"server", path.url()}};
  Client& caller = client(victim.read_line());
  expect_by_memory(caller);
  victim.stop();
  auto sent = std::make_unique<std::vector<std::byte>>(pattern(kLarge));
  Call<std::uint64_t> call = caller.start<sum_up>({.attachment = Bytes{*sent}});
  for (int i = 0; i < 20; ++i) loop().run_once(1ms);
  call = {};
  sent.reset();
  expect_neighbour_fine();
  victim.go_on();
  expect_alive(caller);
}

}  // namespace
}  // namespace weft::shared_memory_testing
