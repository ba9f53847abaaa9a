// SPDX-License-Identifier: Apache-2.0
// CR-8: memory that some peers write and others read costs nobody its connection, also with checksums: these
// are made of the bytes that leave and arrive, and not of memory that may change before or after.
#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "integration/bulk/counted_pattern.hpp"
#include "integration/rpc/rpc_testing.hpp"
#include "weft/bulk/bulk_host.hpp"
#include "weft/bulk/bulk_peer.hpp"

namespace weft::bulk_checksums {
namespace {

using testing::counted_pattern;
using testing::pattern;
using testing::turn_until;

constexpr std::size_t kRegion = std::size_t{3} << 20;
constexpr int kRounds = 60;

/// How often something is done, and the first failure of it.
struct Course {
  int done = 0;
  Status failure;
};

/// One loop serves all, where accesses meet in the order of its turns.
class BulkChecksums : public testing::RpcTest, public ::testing::WithParamInterface<const char*> {
 protected:
  void host_on(unsigned threads) {
    ServerOptions options{.listen = {std::string{GetParam()} + "://127.0.0.1:0"}, .threads = threads};
    options.checksums = true;
    server = &serve(std::move(options), [this](Server& its) { host.emplace(its); });
  }
  /// A course for the whole region, or for parts of `bytes` of it.
  Task<void> read_often(Client* client, BulkHandle handle, std::size_t bytes, Course* course) {
    BulkPeer peer{*client};
    std::vector<std::byte> into(bytes);
    for (; course->done < kRounds && course->failure.ok(); ++course->done) {
      const std::uint64_t offset = (kRegion - bytes) / kRounds * static_cast<unsigned>(course->done);
      const Result<void> outcome = co_await peer.read(handle, offset, into);
      course->failure = outcome.status();
    }
    ++ended;
  }
  /// Writes until all of `readers` have ended.
  Task<void> write_often(Client* client, BulkHandle handle, int readers, Course* course) {
    BulkPeer peer{*client};
    std::vector<std::byte> from(kRegion);
    while (ended < readers && course->failure.ok()) {
      std::ranges::fill(from, static_cast<std::byte>(++course->done));
      const Result<void> outcome = co_await peer.write(handle, 0, Bytes{from});
      course->failure = outcome.status();
    }
  }
  static Task<void> join(Scope& scope) { co_await scope.join(); }

  void write_and_read(int writers) {
    BulkRegion region = host->share(counted_pattern(kRegion, live), BulkRights::kReadAndWrite).value();
    std::vector<Course> writing(static_cast<std::size_t>(writers));
    const std::vector<std::size_t> sizes{kRegion, 400'000, 100'000, 9'000, 300};
    std::vector<Course> reading(sizes.size());
    Scope scope;
    for (Course& each : writing) {
      scope.spawn(&BulkChecksums::write_often, this, &client(*server), region.handle(),
                  static_cast<int>(sizes.size()), &each);
    }
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      scope.spawn(&BulkChecksums::read_often, this, &client(*server), region.handle(), sizes[i], &reading[i]);
    }
    loop().block_on(join(scope));
    for (const Course& each : writing) EXPECT_TRUE(each.failure.ok()) << each.failure.to_string();
    for (const Course& each : reading) {
      EXPECT_TRUE(each.failure.ok()) << each.failure.to_string();
      EXPECT_EQ(each.done, kRounds);
    }
    EXPECT_EQ(server->stats().protocol_errors, 0u);
    region.revoke();
    EXPECT_TRUE(turn_until(loop(), [&] { return live == 0; }));
  }

  std::atomic<int> live = 0;
  int ended = 0;
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
#if !defined(__SANITIZE_THREAD__)
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
    EXPECT_EQ(region.memory()[8], pattern(9)[8]);
  }
}

INSTANTIATE_TEST_SUITE_P(Over, BulkChecksums, ::testing::Values(WEFT_BULK_SCHEMES),
                         [](const auto& its) { return std::string{its.param}; });

}  // namespace
}  // namespace weft::bulk_checksums
