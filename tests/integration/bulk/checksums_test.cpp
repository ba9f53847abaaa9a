// SPDX-License-Identifier: Apache-2.0
// CR-8: memory that some peers write and others read costs nobody its connection, also with checksums: these
// are made of the bytes that leave and arrive, and not of memory that may change before or after.
#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "integration/bulk/counted_pattern.hpp"
#include "integration/bulk/shared_region_courses.hpp"
#include "integration/rpc/rpc_testing.hpp"
#include "weft/detail/bulk/bulk_host.hpp"
#include "weft/detail/bulk/bulk_peer.hpp"

namespace weft::bulk_checksums {
namespace {

using testing::counted_pattern;
using testing::pattern;
using testing::turn_until;

constexpr std::size_t kRegion = std::size_t{3} << 20;
constexpr int kRounds = 60;

/// One loop serves all, where accesses meet in the order of its turns.
class BulkChecksums : public testing::RpcTest, public ::testing::WithParamInterface<const char*> {
 protected:
  void host_on(unsigned threads) {
    ServerOptions options{.listen = {std::string{GetParam()} + "://127.0.0.1:0"}, .threads = threads};
    options.checksums = true;
    server = &serve(std::move(options), [this](Server& its) { host.emplace(its); });
  }
  void write_and_read(int writers) {
    BulkRegion region = host->share(counted_pattern(kRegion, live), BulkRights::kReadAndWrite).value();
    testing::SharedRegionCourses courses{region.handle(), kRounds};
    for (int i = 0; i < writers; ++i) courses.write_by(client(*server));
    for (const std::size_t bytes :
         {kRegion, std::size_t{400'000}, std::size_t{100'000}, std::size_t{9'000}, std::size_t{300}}) {
      courses.read_by(client(*server), bytes);
    }
    courses.run(loop());
    EXPECT_EQ(server->stats().protocol_errors, 0u);
    region.revoke();
    EXPECT_TRUE(turn_until(loop(), [&] { return live == 0; }));
  }

  std::atomic<int> live = 0;
  Server* server = nullptr;
  std::optional<BulkHost> host;
};

TEST_P(BulkChecksums, CostNobodyTheConnectionWhenOneWritesWhatOthersRead) {
  host_on(1);
  write_and_read(1);
}

TEST_P(BulkChecksums, CostNobodyTheConnectionWhenSeveralWriteToOnePlace) {
  host_on(1);
  write_and_read(3);
}

// Accesses of two loops are data races on the region, which its owner asked for; the thread sanitizer is told
// of no such thing.
#if WEFT_BULK_OF_SEVERAL_LOOPS
TEST_P(BulkChecksums, CostNobodyTheConnectionWhenLoopsWriteAtTheSameTime) {
  host_on(2);
  write_and_read(4);
}
#endif

TEST_P(BulkChecksums, FindWhatWasReadAsItWasWritten) {
  host_on(1);
  BulkRegion region = host->share(counted_pattern(kRegion, live), BulkRights::kReadAndWrite).value();
  BulkPeer peer{client(*server)};
  for (const std::size_t bytes :
       {std::size_t{1}, std::size_t{4097}, std::size_t{16'384}, std::size_t{131'073}, kRegion - 9}) {
    const std::vector<std::byte> from = pattern(bytes, 5);
    std::vector<std::byte> into(bytes);
    ASSERT_TRUE(loop().block_on(peer.write(region.handle(), 9, Bytes{from})).ok()) << bytes;
    ASSERT_TRUE(loop().block_on(peer.read(region.handle(), 9, into)).ok()) << bytes;
    EXPECT_TRUE(into == from) << bytes;
    std::vector<std::byte> before(9);
    ASSERT_TRUE(loop().block_on(peer.read(region.handle(), 0, before)).ok());
    EXPECT_TRUE(testing::same_bytes(before, pattern(9)));
  }
}

INSTANTIATE_TEST_SUITE_P(Over, BulkChecksums, ::testing::Values(WEFT_BULK_SCHEMES),
                         [](const auto& its) { return std::string{its.param}; });

}  // namespace
}  // namespace weft::bulk_checksums
