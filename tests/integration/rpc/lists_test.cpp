// SPDX-License-Identifier: Apache-2.0
// Attachments of many blocks, gathered and landed: what arrives is what a copy in one run would be, and
// nothing is written between the blocks.
#include <algorithm>
#include <limits>
#include <vector>

#include "integration/carrier_calls.hpp"
#include "integration/rpc/rpc_testing.hpp"

namespace weft::testing {
namespace {

using carrier_testing::give_back;
using carrier_testing::produce;
using carrier_testing::sum_of;
using carrier_testing::sum_up;

constexpr std::size_t kBlock = 4096;
constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();

struct Way {
  const char* name;
  const char* url;
  bool checksums;
};

class Lists : public RpcTest, public ::testing::WithParamInterface<Way> {
 protected:
  Client& connected() {
    return client(serve({.listen = {GetParam().url}, .threads = 1, .checksums = GetParam().checksums},
                        carrier_testing::register_all));
  }
};

INSTANTIATE_TEST_SUITE_P(Over, Lists,
                         ::testing::Values(Way{"Tcp", kAnyPort, false},
                                           Way{"TcpWithChecksums", kAnyPort, true},
                                           Way{"Memory", "memory://lists", false}),
                         [](const auto& its) { return its.param.name; });

TEST_P(Lists, OfEveryShapeGoThereAndBack) {
  Client& caller = connected();
  for (const std::size_t block : {1u, 100u, 2047u, 2048u, 4096u, 16'383u, 16'384u, 200'000u}) {
    carrier_testing::expect_lists_both_ways(loop(), caller, block,
                                            std::min<std::size_t>(1'500'000 / block, 700));
    if (HasFatalFailure()) return;
  }
}

TEST_P(Lists, OfTenThousandBlocksGoInOneCall) {
  Client& caller = connected();
  const std::size_t blocks = 10'000;
  std::vector<std::byte> from = pattern(blocks * kBlock * 2);
  std::vector<std::byte> into(blocks * kBlock * 2, std::byte{0xEE});
  const CallOptions options{.attachment = AttachmentView::strided(from, blocks, kBlock, 2 * kBlock),
                            .landing = LandingView::strided(into, blocks, kBlock, 2 * kBlock)};
  EXPECT_EQ(wait_for_answer(caller.start<give_back>(options)).value().attachment_bytes, blocks * kBlock);
  for (std::size_t i = 0; i < blocks; ++i) {
    const MutableBytes landed = MutableBytes{into}.subspan(2 * i * kBlock, 2 * kBlock);
    ASSERT_TRUE(same_bytes(landed.first(kBlock), Bytes{from}.subspan(2 * i * kBlock, kBlock))) << i;
    ASSERT_TRUE(all_are(landed.last(kBlock), std::byte{0xEE}));
  }
}

TEST_P(Lists, MayLendTheSameBlockManyTimes) {
  Client& caller = connected();
  const std::vector<std::byte> block = pattern(kBlock, 3);
  std::vector<std::byte> all;
  for (int i = 0; i < 100; ++i) all.insert(all.end(), block.begin(), block.end());
  const CallOptions options{.attachment = AttachmentView::strided(block.data(), 100, kBlock, 0)};
  EXPECT_EQ(call<sum_up>(caller, options).value(), sum_of(all));
}

TEST_P(Lists, ThatCannotBeAreRefusedWithANameBeforeAnythingIsSent) {
  Client& caller = connected();
  ASSERT_TRUE(connect(caller).ok());
  const std::uint64_t sent = caller.stats().traffic.bytes_sent;
  std::vector<std::byte> memory(1000);
  const auto refused = [&](const CallOptions& options, std::string_view name) {
    const Status why = call<sum_up>(caller, options).status();
    EXPECT_EQ(why.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string{why.message()}, ::testing::HasSubstr(std::string{name}));
  };
  refused({.landing = LandingView::strided(memory.data(), 2, 100, 99)}, "CallOptions::landing");
  refused({.landing = LandingView::strided(memory.data(), 2, 100, 99)}, "overlap");
  refused({.landing = LandingView::strided(memory, 10, 100, 101)}, "leave the memory");
  refused({.landing = LandingView::strided(memory.data(), 3, 1, kMost / 2)},
          "behind the end of all addresses");
  refused({.landing = LandingView::strided(memory.data(), kMost, 8, 8)}, "more bytes together");
  refused({.attachment = AttachmentView::strided(memory, 10, 100, 101)}, "CallOptions::attachment");
  refused({.attachment = AttachmentView::strided(memory.data(), kMost, 8, 8)}, "more bytes together");
  EXPECT_EQ(caller.stats().traffic.bytes_sent, sent);
  EXPECT_EQ(call<sum_up>(caller, CallOptions{}).value(), 0u);
  EXPECT_EQ(caller.stats().connections, 1u);
}

TEST_P(Lists, ThatAreShorterThanTheAnswerStayAsTheyWere) {
  Client& caller = connected();
  std::vector<std::byte> memory(100'000, std::byte{0xEE});
  const LandingView landing = LandingView::strided(memory, 10, 100, 10'000);
  const auto answer = wait_for(caller.start<produce>({.landing = landing}, 1001u, 1u));
  EXPECT_EQ(answer.status().code(), StatusCode::kResourceExhausted);
  EXPECT_TRUE(all_are(memory, std::byte{0xEE}));
  EXPECT_EQ(wait_for(caller.start<produce>({.landing = landing}, 1000u, 1u)).value(), 1000u);
}

TEST_P(Lists, OfACancelledCallAreFreeAtOnce) {
  Client& caller = connected();
  ASSERT_TRUE(connect(caller).ok());
  constexpr std::size_t kBlocks = 8192;
  for (int i = 0; i < 5; ++i) {
    std::vector<std::byte> into(kBlocks * kBlock * 2);
    std::vector<std::byte> from(kBlocks * kBlock * 2);
    std::vector<MutableBytes> list;
    for (std::size_t at = 0; at < kBlocks; ++at) {
      list.push_back(MutableBytes{into}.subspan(2 * at * kBlock, kBlock));
    }
    const std::uint64_t came = caller.stats().traffic.bytes_received;
    auto landing =
        caller.start<produce>({.landing = std::span<const MutableBytes>{list}}, kBlocks * kBlock, 1u);
    auto lending =
        caller.start<sum_up>({.attachment = AttachmentView::strided(from, kBlocks, kBlock, 2 * kBlock)});
    const std::uint64_t some = static_cast<std::uint64_t>(i) * 100'000 + 1;
    ASSERT_TRUE(turn_until(loop(), [&] { return caller.stats().traffic.bytes_received >= came + some; }));
  }  // the calls end, and then what was lent: the sanitizer sees it when that is still used
  EXPECT_EQ(wait_for(caller.start<carrier_testing::add>(1, 2)).value(), 3);
  EXPECT_EQ(caller.stats().connections, 1u);
}

class ListsOfOneLoop : public RpcTest {};

TEST_F(ListsOfOneLoop, OfTheSmallestBlocksLandInManyTurns) {
  constexpr std::size_t kBytes = std::size_t{1} << 20;
  Client& caller = client(serve_here(carrier_testing::register_all));
  ASSERT_TRUE(connect(caller).ok());
  const std::vector<std::byte> from = pattern(kBytes);
  std::vector<std::byte> into(2 * kBytes, std::byte{0xEE});
  auto gives = caller.start<give_back>(
      CallOptions{.attachment = Bytes{from}, .landing = LandingView::strided(into, kBytes, 1, 2)});
  int turns = 0;
  ASSERT_TRUE(turn_until(loop(), [&] {
    ++turns;
    return gives.done();
  }));
  EXPECT_TRUE(wait_for_answer(std::move(gives)).ok());
  for (std::size_t i = 0; i < kBytes; ++i) {
    ASSERT_EQ(into[2 * i], from[i]);
    ASSERT_EQ(into[2 * i + 1], std::byte{0xEE});
  }
  // A turn that takes 256 KiB, 64 bytes with each system call, holds the loop for tens of milliseconds.
  EXPECT_GT(turns, 100);
}

}  // namespace
}  // namespace weft::testing
