// SPDX-License-Identifier: Apache-2.0
// CR-8: memory of a server is read and written by handles that it gives away, as far as they go and no
// longer.
#include <algorithm>
#include <atomic>
#include <limits>
#include <thread>
#include <utility>
#include <vector>

#include "integration/bulk/counted_pattern.hpp"
#include "integration/rpc/rpc_testing.hpp"
#include "weft/detail/bulk/bulk_host.hpp"
#include "weft/detail/bulk/bulk_peer.hpp"
#if WEFT_BULK_OVER_VERBS
#include "support/rdma_devices.hpp"
#endif

namespace weft::bulk_testing {
namespace {

using namespace std::chrono_literals;
using testing::pattern;
using testing::turn_until;

constexpr std::size_t kLarge = std::size_t{9} << 20;
constexpr std::size_t kSome = std::size_t{2} << 20;

/// Runs over each carrier of this build, over verbs on devices that exist in the process only.
class BulkHandles : public testing::RpcTest, public ::testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
#if WEFT_BULK_OVER_VERBS
    transport_options.verbs.driver = &testing::rdma_devices();
#endif
    ServerOptions options{.listen = {std::string{GetParam()} + "://127.0.0.1:0"}, .threads = 2};
    server = &serve(std::move(options), [this](Server& its) { host.emplace(its); });
    caller = &client(*server);
    peer.emplace(*caller);
  }
  /// Shares a pattern of `bytes`, which counts down when nobody has it any more.
  BulkRegion share(std::size_t bytes, BulkRights rights = BulkRights::kReadAndWrite) {
    return host->share(testing::counted_pattern(bytes, live), rights).value();
  }
  Result<void> read(BulkHandle handle, std::uint64_t offset, LandingView into) {
    return loop().block_on(peer->read(handle, offset, into));
  }
  Result<void> write(BulkHandle handle, std::uint64_t offset, AttachmentView from) {
    return loop().block_on(peer->write(handle, offset, from));
  }

  static Task<Result<void>> read_twenty_times(BulkPeer* its, BulkHandle handle, MutableBytes into) {
    Result<void> last;
    for (int i = 0; i < 20 && last.ok(); ++i) last = co_await its->read(handle, 0, into);
    co_return last;
  }
  /// Says which of two ended first; the other is given up.
  static Task<std::size_t> first_of(Task<Result<void>> one, Task<Result<void>> other) {
    const auto first = co_await race(std::move(one), std::move(other));
    co_return first.index;
  }

  std::atomic<int> live = 0;
  Server* server = nullptr;
  Client* caller = nullptr;
  std::optional<BulkHost> host;
  std::optional<BulkPeer> peer;
};

TEST_P(BulkHandles, ReadAndWriteEachPartOfTheirMemory) {
  BulkRegion region = share(kLarge + 100);
  const std::vector<std::byte> whole = pattern(kLarge + 100);
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{4096}, std::size_t{100'001}, kSome + 3, kLarge}) {
    for (const std::size_t offset : {std::size_t{0}, std::size_t{13}, std::size_t{100}}) {
      std::vector<std::byte> into(size);
      ASSERT_TRUE(read(region.handle(), offset, into).ok()) << size;
      EXPECT_TRUE(testing::same_bytes(into, Bytes{whole}.subspan(offset, size))) << size << " " << offset;
    }
    const std::vector<std::byte> from = pattern(size, 7);
    ASSERT_TRUE(write(region.handle(), 50, Bytes{from}).ok()) << size;
    EXPECT_TRUE(testing::same_bytes(region.memory().subspan(50, size), from));
    EXPECT_EQ(region.memory()[49], whole[49]);
    EXPECT_EQ(region.memory()[50 + size], whole[50 + size]);
    ASSERT_TRUE(write(region.handle(), 0, Bytes{whole}).ok());
  }
}

TEST_P(BulkHandles, ReadIntoListsAndWriteFromThem) {
  BulkRegion region = share(kSome);
  std::vector<std::byte> memory(2 * kSome);
  ASSERT_TRUE(read(region.handle(), 0, LandingView::strided(memory, kSome / 4096, 4096, 8192)).ok());
  for (std::size_t i = 0; i < kSome; ++i) ASSERT_EQ(memory[i / 4096 * 8192 + i % 4096], region.memory()[i]);
  std::ranges::fill(memory, std::byte{9});
  ASSERT_TRUE(write(region.handle(), 4096, AttachmentView::strided(memory, 10, 100, 8192)).ok());
  EXPECT_EQ(region.memory()[4096 + 999], std::byte{9});
  EXPECT_EQ(region.memory()[4096 + 1000], pattern(kSome)[4096 + 1000]);
}

TEST_P(BulkHandles, GiveTheRightsThatTheyWereSharedWithWhateverTheirHolderMakesOfThem) {
  BulkRegion readable = share(100, BulkRights::kRead);
  BulkRegion writable = share(100, BulkRights::kWrite);
  std::vector<std::byte> memory(100);
  EXPECT_TRUE(read(readable.handle(), 0, memory).ok());
  EXPECT_TRUE(write(writable.handle(), 0, Bytes{memory}).ok());
  for (const bool forged : {false, true}) {
    BulkHandle to_write = readable.handle();
    BulkHandle to_read = writable.handle();
    if (forged) to_write.rights = to_read.rights = BulkRights::kReadAndWrite;
    EXPECT_EQ(write(to_write, 0, Bytes{memory}).status().code(), StatusCode::kPermissionDenied);
    EXPECT_EQ(read(to_read, 0, memory).status().code(), StatusCode::kPermissionDenied);
  }
}

TEST_P(BulkHandles, ReachNothingBeyondTheirMemory) {
  BulkRegion region = share(1000);
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  std::vector<std::byte> memory(100);
  for (const bool forged : {false, true}) {
    BulkHandle handle = region.handle();
    if (forged) handle.bytes = kMost;
    for (const std::uint64_t offset :
         {std::uint64_t{901}, std::uint64_t{1000}, std::uint64_t{1001}, kMost - 99, kMost}) {
      EXPECT_EQ(read(handle, offset, memory).status().code(), StatusCode::kOutOfRange) << offset;
      EXPECT_EQ(write(handle, offset, Bytes{memory}).status().code(), StatusCode::kOutOfRange) << offset;
    }
    EXPECT_TRUE(read(handle, 900, memory).ok());
    EXPECT_TRUE(read(handle, 1000, MutableBytes{}).ok()) << "nothing is nowhere";
  }
}

TEST_P(BulkHandles, AreOfNoUseWithoutTheirKeyOrAtAnotherHost) {
  BulkRegion region = share(1000);
  std::vector<std::byte> memory(100);
  std::vector<BulkHandle> wrong(5, region.handle());
  wrong[0].key_high ^= 1;
  wrong[1].key_low ^= std::uint64_t{1} << 63;
  wrong[2].region += 1;
  wrong[3].region = 0;
  wrong[4] = BulkHandle{.bytes = 1000, .rights = BulkRights::kReadAndWrite};
  for (const BulkHandle& each : wrong) {
    EXPECT_EQ(read(each, 0, memory).status().code(), StatusCode::kNotFound);
    EXPECT_EQ(write(each, 0, Bytes{memory}).status().code(), StatusCode::kNotFound);
  }
  BulkRegion other = share(1000);
  BulkHandle mixed = region.handle();
  mixed.region = other.handle().region;
  EXPECT_EQ(read(mixed, 0, memory).status().code(), StatusCode::kNotFound);
}

TEST_P(BulkHandles, EndWithTheirRegionAndItsMemoryWithTheLastAccess) {
  BulkRegion region = share(kSome);
  const BulkHandle handle = region.handle();
  std::vector<std::byte> memory(100);
  EXPECT_TRUE(read(handle, 0, memory).ok());
  ASSERT_TRUE(turn_until(loop(), [&] { return live == 1; }));
  region.revoke();
  EXPECT_TRUE(turn_until(loop(), [&] { return live == 0; }))
      << "an answer that left may hold it for a moment";
  EXPECT_EQ(read(handle, 0, memory).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(write(handle, 0, Bytes{memory}).status().code(), StatusCode::kNotFound);
  EXPECT_TRUE(region.memory().empty());
  region = share(10);
  EXPECT_EQ(live, 1);
  region = BulkRegion{};
  EXPECT_EQ(live, 0);
}

TEST_P(BulkHandles, WriteThatIsRefusedSendsNothing) {
  BulkRegion region = share(kLarge, BulkRights::kRead);
  BulkHandle forged = region.handle();
  forged.rights = BulkRights::kReadAndWrite;
  const std::vector<std::byte> from(kLarge);
  EXPECT_EQ(write(forged, 0, Bytes{from}).status().code(), StatusCode::kPermissionDenied);
  std::vector<std::byte> memory(10);
  EXPECT_TRUE(read(forged, 0, memory).ok());
  EXPECT_LT(server->stats().traffic.bytes_received, 2000u);
}

TEST_P(BulkHandles, ThatAreRevokedWhileTheyAreUsedFailOrServeWhole) {
  const std::vector<std::byte> expected = pattern(kSome);
  int served = 0;
  int refused = 0;
  for (int round = 0; round < 20; ++round) {
    BulkRegion region = share(kSome);
    const BulkHandle handle = region.handle();
    std::thread revoker{[&region] { region.revoke(); }};
    for (int i = 0; i < 3; ++i) {
      std::vector<std::byte> into(kSome);
      const Result<void> outcome = read(handle, 0, into);
      if (outcome.ok()) {
        ++served;
        EXPECT_TRUE(into == expected);
      } else {
        ++refused;
        EXPECT_EQ(outcome.status().code(), StatusCode::kNotFound);
      }
    }
    revoker.join();
  }
  EXPECT_EQ(served + refused, 60);
  EXPECT_TRUE(turn_until(loop(), [&] { return live == 0; }));
}

TEST_P(BulkHandles, AreSharedForSomeMemoryAndSomeRightOnly) {
  EXPECT_EQ(host->share(Buffer{}, BulkRights::kRead).status().code(), StatusCode::kInvalidArgument);
  for (const unsigned rights : {0u, 4u, 255u}) {
    Buffer memory = Buffer::try_allocate(10).value();
    const auto shared = host->share(std::move(memory), static_cast<BulkRights>(rights));
    EXPECT_EQ(shared.status().code(), StatusCode::kInvalidArgument);
  }
}

TEST_P(BulkHandles, AreNoMoreAtATimeThanTheHostMayShare) {
  constexpr std::size_t kMost = 5;
  Server other{ServerOptions{.listen = {std::string{GetParam()} + "://127.0.0.1:0"}}, transport_options};
  BulkHost few{other, BulkHostOptions{.regions_max = kMost}};
  std::vector<BulkRegion> regions;
  const auto share_one = [&] { return few.share(testing::counted_pattern(100, live), BulkRights::kRead); };
  for (std::size_t i = 0; i < kMost; ++i) regions.push_back(share_one().value());
  for (int again = 0; again < 3; ++again) {
    const Status refused = share_one().status();
    EXPECT_EQ(refused.code(), StatusCode::kResourceExhausted);
    EXPECT_THAT(std::string{refused.message()}, ::testing::HasSubstr("regions_max"));
    EXPECT_EQ(live, static_cast<int>(kMost)) << "what is not shared is given back";
    regions[1].revoke();
    regions[1] = share_one().value();
  }
  regions.clear();
  EXPECT_EQ(live, 0);
  EXPECT_TRUE(share_one().ok());
}

TEST_P(BulkHandles, AreReadNoFasterThanTheirReaderWants) {
  BulkRegion region = share(kLarge);
  std::vector<std::byte> into(kLarge);
  std::vector<std::byte> little(100);
  TransferProgress progress;
  CallOptions options;
  options.progress = &progress;
  options.landing_rate = 200'000;
  EXPECT_EQ(loop().block_on(first_of(peer->read(region.handle(), 0, into, options),
                                     read_twenty_times(&*peer, region.handle(), little))),
            1u)
      << "the other one takes half a minute";
  EXPECT_LT(progress.received(), kLarge);
}

TEST_P(BulkHandles, GoByTheCarrierThatTheirUrlNames) {
  BulkRegion region = share(1000);
  std::vector<std::byte> memory(1000);
  EXPECT_TRUE(read(region.handle(), 0, memory).ok());
  EXPECT_EQ(caller->carried_by(), GetParam());
}

TEST_P(BulkHandles, AreNotUsedWithOptionsThatNameMemoryToo) {
  BulkRegion region = share(100);
  std::vector<std::byte> memory(100);
  std::vector<std::byte> other(100);
  const CallOptions sends{.attachment = other};
  const CallOptions receives{.landing = other};
  const CallOptions overlaps{.landing = LandingView::strided(other, 3, 10, 5)};
  for (const CallOptions& options : {sends, receives, overlaps}) {
    for (const Status& refused :
         {loop().block_on(peer->read(region.handle(), 0, memory, options)).status(),
          loop().block_on(peer->write(region.handle(), 0, memory, options)).status()}) {
      EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
      EXPECT_THAT(std::string{refused.message()}, ::testing::HasSubstr("BulkPeer::read() or write()"));
      EXPECT_TRUE(refused.unprocessed());
    }
  }
  EXPECT_EQ(other, std::vector<std::byte>(100));
}

INSTANTIATE_TEST_SUITE_P(Over, BulkHandles, ::testing::Values(WEFT_BULK_SCHEMES),
                         [](const auto& its) { return std::string{its.param}; });
#if WEFT_BULK_OVER_VERBS
INSTANTIATE_TEST_SUITE_P(OverVerbs, BulkHandles, ::testing::Values("verbs"),
                         [](const auto& its) { return std::string{its.param}; });
#endif

using BulkHosts = testing::RpcTest;

TEST_F(BulkHosts, AreMissedByNameWhereAServerHasNone) {
  BulkPeer peer{client(serve_here([](Server&) {}))};
  const BulkHandle handle{.bytes = 100, .rights = BulkRights::kReadAndWrite};
  std::vector<std::byte> memory(100);
  for (const Status& failure : {loop().block_on(peer.read(handle, 0, memory)).status(),
                                loop().block_on(peer.write(handle, 0, memory)).status()}) {
    EXPECT_EQ(failure.code(), StatusCode::kUnimplemented);
    EXPECT_THAT(std::string{failure.message()}, ::testing::HasSubstr("the server has no BulkHost"));
    EXPECT_TRUE(failure.unprocessed()) << "no handler ran";
  }
}

TEST_F(BulkHosts, AreMadeBeforeTheirServerStarts) {
  Server& server = serve_here([](Server&) {});
  EXPECT_DEATH(BulkHost{server}, "make a BulkHost before its server's start");
}

TEST_F(BulkHosts, AreMadeForAServerWhoseStartFailedToo) {
  Server server{{.listen = {testing::kAnyPort, "nothing://there:1"}, .threads = 0, .loop = &loop()}};
  ASSERT_FALSE(server.start().ok());
  EXPECT_TRUE(server.urls().empty());
  const BulkHost host{server};
}

}  // namespace
}  // namespace weft::bulk_testing
