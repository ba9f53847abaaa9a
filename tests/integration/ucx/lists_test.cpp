// SPDX-License-Identifier: Apache-2.0
// BU-3: lists of blocks over ucx://, sent and landed where they lie: what arrives is what a copy in one run
// would be, nothing is written between the blocks, and memory is free when its call is over.
#include <algorithm>
#include <optional>
#include <vector>

#include "integration/carrier_calls.hpp"
#include "integration/ucx/ucx_testing.hpp"
#include "support/pattern.hpp"

namespace weft::ucx_testing {
namespace {

constexpr std::size_t kBlock = 4096;

class UcxLists : public UcxTest {
 protected:
  /// `blocks` blocks with as much between them, which is not theirs.
  static std::vector<std::byte> room_for(std::size_t blocks) {
    return std::vector<std::byte>(2 * blocks * kBlock, std::byte{0xEE});
  }
  static AttachmentView sent_from(Bytes memory) {
    return AttachmentView::strided(memory, memory.size() / (2 * kBlock), kBlock, 2 * kBlock);
  }
  static LandingView landed_in(MutableBytes memory) {
    return LandingView::strided(memory, memory.size() / (2 * kBlock), kBlock, 2 * kBlock);
  }
  static bool is_untouched(Bytes memory) { return testing::all_are(memory, std::byte{0xEE}); }
};

INSTANTIATE_TEST_SUITE_P(Ucx, UcxLists, ::testing::ValuesIn(kAllKinds), name_of);

// Blocks that are copied, gathered, or leased each; of more runs than are listed at a time, and of fewer
// bytes than are worth a rendezvous.
TEST_P(UcxLists, OfEveryShapeGoThereAndBack) {
  Client& caller = client(serve(transports()).urls().front());
  for (const std::size_t size : {1u, 300u, 700u, 2047u, 2048u, 4096u, 32'767u, 32'768u, 200'000u}) {
    for (const std::size_t bytes : {20'000u, 1'500'000u}) {
      expect_lists_both_ways(loop(), caller, size, std::clamp<std::size_t>(bytes / size, 2, 3000));
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_EQ(caller.stats().connections, 1u);
}

TEST_P(UcxLists, OfTenThousandBlocksGoInOneCall) {
  Client& caller = client(serve(transports()).urls().front());
  constexpr std::size_t kBlocks = 10'000;
  const std::vector<std::byte> from = pattern(kBlocks * kBlock * 2);
  std::vector<std::byte> into = room_for(kBlocks);
  const CallOptions options{.attachment = sent_from(from), .landing = landed_in(into)};
  const auto answer = loop().block_on(answer_of(caller.start<give_back>(options)));
  ASSERT_TRUE(answer.ok()) << answer.status().to_string();
  for (std::size_t i = 0; i < kBlocks; ++i) {
    const MutableBytes landed = MutableBytes{into}.subspan(2 * i * kBlock, 2 * kBlock);
    ASSERT_TRUE(testing::same_bytes(landed.first(kBlock), Bytes{from}.subspan(2 * i * kBlock, kBlock))) << i;
    ASSERT_TRUE(is_untouched(landed.last(kBlock))) << i;
  }
}

TEST_P(UcxLists, MayLendTheSameBlockManyTimes) {
  Client& caller = client(serve(transports()).urls().front());
  const std::vector<std::byte> block = pattern(kBlock, 3);
  std::vector<std::byte> all;
  for (int i = 0; i < 100; ++i) all.insert(all.end(), block.begin(), block.end());
  const CallOptions options{.attachment = AttachmentView::strided(block.data(), 100, kBlock, 0)};
  EXPECT_EQ(wait_for(caller.start<sum_up>(options)).value(), sum_of(all));
}

TEST_P(UcxLists, InBothDirectionsAtOnceDoNotMix) {
  Client& caller = client(serve(transports()).urls().front());
  constexpr std::size_t kBlocks = 700;
  const std::vector<std::byte> from = pattern(2 * kBlocks * kBlock);
  std::vector<std::byte> all;
  for (std::size_t i = 0; i < kBlocks; ++i) {
    const Bytes block = Bytes{from}.subspan(2 * i * kBlock, kBlock);
    all.insert(all.end(), block.begin(), block.end());
  }
  std::vector<std::vector<std::byte>> landings(4, room_for(kBlocks));
  std::vector<Call<std::uint64_t>> calls;
  for (std::uint32_t i = 0; i < 4; ++i) {
    calls.push_back(caller.start<sum_up>({.attachment = sent_from(from)}));
    calls.push_back(caller.start<produce>({.landing = landed_in(landings[i])}, kBlocks * kBlock, i));
  }
  for (std::uint32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(wait_for(std::move(calls[2 * i])).value(), sum_of(all));
    EXPECT_EQ(wait_for(std::move(calls[2 * i + 1])).value(), kBlocks * kBlock);
    const std::vector<std::byte> expected = pattern(kBlocks * kBlock, i);
    for (std::size_t block = 0; block < kBlocks; ++block) {
      ASSERT_TRUE(testing::same_bytes(Bytes{landings[i]}.subspan(2 * block * kBlock, kBlock),
                                      Bytes{expected}.subspan(block * kBlock, kBlock)));
    }
  }
}

// The memory is the caller's again as soon as the call is dropped: it is given away at once, and a
// neighbour's bytes arrive all the same.
TEST_P(UcxLists, OfADroppedCallAreFreeAtOnce) {
  Client& caller = client(serve(transports()).urls().front());
  expect_alive(caller);
  constexpr std::size_t kBlocks = 1000;
  const std::vector<std::byte> kept = pattern(2 * kBlocks * kBlock);
  std::uint64_t kept_sum = wait_for(caller.start<sum_up>({.attachment = sent_from(kept)})).value();
  for (int turns = 0; turns < 40; turns += turns < 8 ? 1 : 8) {
    auto from = std::make_unique<std::vector<std::byte>>(kept);
    auto into = std::make_unique<std::vector<std::byte>>(room_for(kBlocks));
    {
      const Call<std::uint64_t> sending = caller.start<sum_up>({.attachment = sent_from(*from)});
      const Call<std::uint64_t> fetching =
          caller.start<produce>({.landing = landed_in(*into)}, kBlocks * kBlock, 1u);
      for (int turn = 0; turn < turns; ++turn) loop().run_once(0ms);
    }
    std::ranges::fill(*into, std::byte{0xEE});
    from.reset();
    const Result<std::uint64_t> sum = wait_for(caller.start<sum_up>({.attachment = sent_from(kept)}));
    ASSERT_TRUE(sum.ok()) << turns << ": " << sum.status().to_string();
    ASSERT_EQ(*sum, kept_sum);
    ASSERT_TRUE(is_untouched(*into)) << turns;
  }
  EXPECT_EQ(caller.stats().connections, 1u);
}

// Of a client that ends, and of a server that does, in the middle of them: on one loop, so of one worker in
// error mode peer. Whoever else has that worker goes on.
TEST_P(UcxLists, EndWithTheirClientOrServer) {
  Client& neighbour = client(serve(transports(), true).urls().front());
  expect_alive(neighbour);
  constexpr std::size_t kBlocks = 1000;
  const std::vector<std::byte> kept = pattern(2 * kBlocks * kBlock);
  for (int turns = 0; turns < 60; turns += 5) {
    auto from = std::make_unique<std::vector<std::byte>>(kept);
    auto into = std::make_unique<std::vector<std::byte>>(room_for(kBlocks));
    std::optional<Server> server{
        std::in_place, ServerOptions{.listen = {"ucx://127.0.0.1:0"}, .threads = 0, .loop = &loop()},
        transports()};
    register_all(*server);
    server->start().value();
    std::optional<Client> caller{std::in_place, loop(), ClientOptions{.connect = server->urls().front()},
                                 transports()};
    expect_alive(*caller);
    Call<std::uint64_t> both =
        caller->start<give_back>({.attachment = sent_from(*from), .landing = landed_in(*into)});
    Call<std::uint64_t> sending = caller->start<receive_in_place>({.attachment = sent_from(*from)});
    for (int turn = 0; turn < turns; ++turn) loop().run_once(0ms);
    if (turns % 2 == 0) {
      server.reset();
    } else {
      caller.reset();
    }
    [[maybe_unused]] const auto how = wait_for(std::move(both));
    [[maybe_unused]] const auto other = wait_for(std::move(sending));
    from.reset();
    std::ranges::fill(*into, std::byte{0xEE});
    ASSERT_TRUE(turn_until(loop(), [&] { return wait_for(neighbour.start<add>(20, 22)).ok(); })) << turns;
    ASSERT_TRUE(is_untouched(*into)) << turns;
  }
}

TEST_P(UcxLists, OfACallThatTimesOutEndWithItAlone) {
  Client& caller = client(serve(transports()).urls().front());
  expect_alive(caller);
  constexpr std::size_t kBlocks = 4000;
  const std::vector<std::byte> from = pattern(2 * kBlocks * kBlock);
  for (const auto timeout : {1us, 100us, 500us, 1000us, 2000us, 4000us}) {
    std::vector<std::byte> into = room_for(kBlocks);
    const Result<std::uint64_t> size = wait_for(caller.start<give_back>(
        {.timeout = timeout, .attachment = sent_from(from), .landing = landed_in(into)}));
    // The server refuses a request that waited for half of its time, for example behind the transfer before.
    EXPECT_TRUE(size.ok() || size.status().unprocessed() ||
                size.status().code() == StatusCode::kDeadlineExceeded)
        << size.status().to_string();
    expect_alive(caller);
  }
  EXPECT_EQ(caller.stats().connections, 1u);
}

}  // namespace
}  // namespace weft::ucx_testing
