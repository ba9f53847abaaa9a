// SPDX-License-Identifier: Apache-2.0
// CR-19 on a real RDMA stack: the peer is killed with calls in flight and in the middle of its bytes, in a
// loop; F1 to F5. WEFT_TEST_KILLS says how many peers each test kills.
#include <algorithm>
#include <cstdlib>

#include "integration/deaths_testing.hpp"
#include "integration/verbs/verbs_testing.hpp"
#include "support/counted_rdma.hpp"

namespace weft::verbs_testing {
namespace {

constexpr std::size_t kLarge = std::size_t{4} << 20;

int kills() {
  const char* const wanted = std::getenv("WEFT_TEST_KILLS");
  return wanted != nullptr ? std::atoi(wanted) : 5;
}

/// A server and a client of it in this process, whom nothing may happen to.
class VerbsDeaths : public ::testing::Test {
 protected:
  VerbsDeaths()
      : neighbours_server_(world_.serve(options_of("plain", neighbours_rdma_))),
        neighbour_(world_.client(neighbours_server_.urls().front(), options_of("plain", neighbours_rdma_))) {
    world_.expect_alive(neighbour_);
  }
  ~VerbsDeaths() override {
    world_.end();
    EXPECT_EQ(rdma_.live(), testing::CountedRdma::Objects{}) << "F5";
    EXPECT_EQ(neighbours_rdma_.live(), testing::CountedRdma::Objects{}) << "F5";
  }
  VerbsOptions its() { return options_of("plain", rdma_); }
  Call<std::uint64_t> neighbours_call() {
    return neighbour_.start<give_back>({.attachment = Bytes{neighbours_bytes_}});
  }
  void expect_neighbour_fine(Call<std::uint64_t> call) {
    const Result<std::uint64_t> size = world_.wait_for(std::move(call));
    EXPECT_TRUE(size.ok() && *size == neighbours_bytes_.size()) << "F4: " << size.status().to_string();
    EXPECT_EQ(neighbour_.stats().connections, 1u) << "F4";
  }
  /// Expects that this process holds nothing of a victim any more, and `pairs` queue pairs of others. The
  /// first rounds still find their level. How much memory that is depends on how many bytes were under way at
  /// once, so it may rise later, too; but not in each round, as it would by what a victim leaves.
  void expect_nothing_new(int round, int pairs) {
    EXPECT_TRUE(turn_until(world_.loop(), [&] { return rdma_.live().queue_pairs == pairs; })) << "F5";
    if (round < 3) {
      descriptors_ = faults::open_descriptors();
      objects_ = rdma_.live();
      return;
    }
    EXPECT_TRUE(eventually([&] { return faults::open_descriptors() <= descriptors_; })) << "F5";
    testing::CountedRdma::Objects live = rdma_.live();
    if (live.registered_bytes > objects_.registered_bytes) ++rises_;
    EXPECT_LE(rises_, 1 + round / 16) << "F5, round " << round << ": " << live.registered_bytes
                                      << " bytes, before " << objects_.registered_bytes;
    objects_.registered_bytes = std::max(objects_.registered_bytes, live.registered_bytes);
    live.regions = objects_.regions;
    live.registered_bytes = objects_.registered_bytes;
    EXPECT_EQ(live, objects_) << "F5, round " << round;
  }

  testing::CountedRdma rdma_{verbs::system_driver()};
  testing::CountedRdma neighbours_rdma_{verbs::system_driver()};
  World world_;
  Server& neighbours_server_;
  Client& neighbour_;
  const std::vector<std::byte> neighbours_bytes_ = pattern(std::size_t{256} << 10);
  std::size_t descriptors_ = 0;
  testing::CountedRdma::Objects objects_;
  /// Rounds in which more memory was registered than before, after the first ones.
  int rises_ = 0;
};

TEST_F(VerbsDeaths, AServerThatIsKilledFailsEachCallInFlightOnceAndIsFoundAgain) {
  Times ended;
  Times found;
  int cut = 0;
  std::string url = "verbs://127.0.0.1:0";
  auto victim = std::make_unique<Victim>(WEFT_VERBS_VICTIM, std::vector<std::string>{"server", url});
  url = victim->read_line();
  Client& caller = world_.client(url, its());
  world_.expect_alive(caller);
  for (int round = 0; round < kills() && !HasFailure(); ++round) {
    Calls calls{kLarge};
    calls.start(caller);
    // Now and then it is back before its caller has looked, whose queue pair leads to the one before. By then
    // all that nobody answers has left.
    const bool unseen = round % 2 == 1;
    const int turns = round % 16 * 4 + (unseen ? 16 : 0);
    for (int turn = 0; turn < turns; ++turn) world_.loop().run_once(0ms);
    Call<std::uint64_t> neighbours = neighbours_call();
    const auto killed_at = Times::Clock::now();
    victim->kill();
    const auto restart = [&] {
      victim = std::make_unique<Victim>(WEFT_VERBS_VICTIM, std::vector<std::string>{"server", url});
      return victim->read_line() == url;
    };
    ASSERT_TRUE(!unseen || restart());
    ASSERT_TRUE(turn_until(world_.loop(), [&] { return calls.ended(); })) << "F1";
    if (!unseen) ended.add(Times::Clock::now() - killed_at);
    calls.expect_all_lost(world_.loop());
    cut += calls.large.unavailable;
    expect_neighbour_fine(std::move(neighbours));
    // Calls that had not left may have gone to the new one already.
    if (!unseen) expect_nothing_new(round, 0);
    ASSERT_TRUE(unseen || restart());
    const auto back_at = Times::Clock::now();
    const Result<int> sum = world_.wait_for(caller.start<add>({.timeout = 5s}, 20, 22));
    EXPECT_TRUE(sum.ok() && *sum == 42) << sum.status().to_string();
    found.add(Times::Clock::now() - back_at);
  }
  EXPECT_GT(cut, kills()) << "the peers died in the middle of their bytes";
  ended.print("from the kill of the server to the end of the last call");
  found.print("from the server's return to the first answer");
}

TEST_F(VerbsDeaths, AClientThatIsKilledLeavesNothingBehind) {
  Times ended;
  Server& server = world_.serve(its(), World::Where::kHere);
  // Shares the receives of the loop with the victims, and with what they leave.
  Client& close_by = world_.client(server.urls().front(), options_of("plain", neighbours_rdma_));
  world_.expect_alive(close_by);
  for (int round = 0; round < kills() && !HasFailure(); ++round) {
    Victim victim{WEFT_VERBS_VICTIM, {"client", server.urls().front()}};
    const std::uint64_t before = server.stats().calls;
    ASSERT_TRUE(turn_until(world_.loop(), [&] { return server.stats().calls >= before + 18; }));
    for (int turn = 0; turn < round % 16 * 4; ++turn) world_.loop().run_once(0ms);
    Call<std::uint64_t> neighbours = neighbours_call();
    const auto killed_at = Times::Clock::now();
    victim.kill();
    ASSERT_TRUE(turn_until(world_.loop(), [&] {
      return server.stats().connections == 1 && server.stats().calls_running == 0;
    })) << "F1, F5";
    ended.add(Times::Clock::now() - killed_at);
    expect_neighbour_fine(std::move(neighbours));
    const auto sum = world_.wait_for(close_by.start<sum_up>({.attachment = Bytes{neighbours_bytes_}}));
    EXPECT_TRUE(sum.ok() && *sum == sum_of(neighbours_bytes_)) << "F4: " << sum.status().to_string();
    EXPECT_EQ(close_by.stats().connections, 1u) << "F4";
    expect_nothing_new(round, 1);
  }
  ended.print("from the kill of the client to the end of its last handler");
}

}  // namespace
}  // namespace weft::verbs_testing
