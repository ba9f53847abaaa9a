// SPDX-License-Identifier: Apache-2.0
// CR-18: attachments of several answers are fetched at a time, and a call that goes meanwhile takes nothing
// from the others.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "integration/verbs/simulated_testing.hpp"
#include "support/pattern.hpp"

namespace weft::verbs_testing {
namespace {

constexpr std::size_t kSize = 64 * 1024;
constexpr std::size_t kCalls = 4;

class VerbsAnswersAhead : public SimulatedTest {
 protected:
  VerbsAnswersAhead() {
    Server& server = world.serve(options(), World::Where::kHere, "verbs://127.0.0.1:0", [this](Server& its) {
      its.register_handler("lend", [this](CallContext& context, std::uint64_t size) {
        context.set_attachment(
            Buffer::adopt(MutableBytes{lent_}.first(size), nullptr, [](void*) noexcept {}));
        return size;
      });
    });
    leases_.push_back(server.register_memory(lent_).value());
    caller_ = &world.client(server.urls().front(), options());
    // What passes makes credit for all that is sent at once later.
    for (int i = 0; i < 40; ++i) world.expect_alive(*caller_);
    for (auto& landing : landings_) leases_.push_back(caller_->register_memory(landing).value());
  }

  /// Begins calls whose answers are offered, by devices that do nothing more by themselves. Returns how many
  /// requests the client's has then.
  std::size_t begin_calls() {
    rdma.hold();
    for (std::size_t i = 0; i < kCalls; ++i) {
      const CallOptions how{.timeout = 20s, .landing = landings_[i]};
      calls_[i].emplace(caller_->start<lend>(how, kSize));
    }
    loop().run_until_idle();
    const std::vector<ibv_qp*> pairs = rdma.queue_pairs();
    EXPECT_EQ(pairs.size(), 2u);
    const bool first = rdma.sends_waiting(pairs[0]) > 0;
    client_pair_ = pairs[first ? 0 : 1];
    ibv_qp* const server_pair = pairs[first ? 1 : 0];
    while (rdma.step(client_pair_)) loop().run_until_idle();
    for (int i = 0; i < 100 && rdma.sends_waiting(client_pair_) < kCalls; ++i) {
      rdma.step(server_pair);
      loop().run_until_idle();
    }
    return rdma.sends_waiting(client_pair_);
  }
  void expect_answered(std::size_t index) {
    const Result<std::uint64_t> size = world.wait_for(*std::move(calls_[index]));
    EXPECT_EQ(size.value(), kSize);
    EXPECT_TRUE(testing::same_bytes(landings_[index], Bytes{lent_}.first(kSize))) << index;
  }

  static constexpr auto lend = remote<"lend", std::uint64_t(std::uint64_t)>;

  std::vector<std::byte> lent_ = pattern(kSize, 9);
  std::array<std::vector<std::byte>, kCalls> landings_ = [] {
    std::array<std::vector<std::byte>, kCalls> made;
    for (auto& landing : made) landing.resize(kSize);
    return made;
  }();
  std::vector<MemoryLease> leases_;
  Client* caller_ = nullptr;
  std::array<std::optional<weft::Call<std::uint64_t>>, kCalls> calls_;
  ibv_qp* client_pair_ = nullptr;
};

INSTANTIATE_TEST_SUITE_P(Verbs, VerbsAnswersAhead, ::testing::Values("plain"), name_of);

TEST_P(VerbsAnswersAhead, AreFetchedSeveralAtATime) {
  EXPECT_EQ(begin_calls(), kCalls) << "each is a read";
  rdma.release();
  for (std::size_t i = 0; i < kCalls; ++i) expect_answered(i);
  EXPECT_EQ(rdma.counters().read_bytes, kCalls * kSize);
}

TEST_P(VerbsAnswersAhead, OfACallThatIsDroppedAreNotWrittenToItsMemoryAnyMore) {
  ASSERT_EQ(begin_calls(), kCalls);
  for (std::size_t i = 0; i < kCalls; ++i) EXPECT_TRUE(rdma.step(client_pair_));
  calls_[1].reset();
  std::ranges::fill(landings_[1], std::byte{0xEE});
  rdma.release();
  for (const std::size_t i : {0u, 2u, 3u}) expect_answered(i);
  EXPECT_TRUE(testing::all_are(landings_[1], std::byte{0xEE}));
  EXPECT_EQ(caller_->stats().connections, 1u);
}

TEST_P(VerbsAnswersAhead, EndWithTheirConnectionWithoutATouchOfTheirMemory) {
  ASSERT_EQ(begin_calls(), kCalls);
  rdma.force_error(client_pair_);
  rdma.release();
  for (std::size_t i = 0; i < kCalls; ++i) {
    EXPECT_EQ(world.wait_for(*std::move(calls_[i])).status().code(), StatusCode::kUnavailable);
    std::ranges::fill(landings_[i], std::byte{0xEE});
  }
  world.expect_alive(*caller_);
  for (const auto& landing : landings_) {
    EXPECT_TRUE(testing::all_are(landing, std::byte{0xEE}));
  }
}

}  // namespace
}  // namespace weft::verbs_testing
