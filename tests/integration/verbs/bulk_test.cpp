// SPDX-License-Identifier: Apache-2.0
// CR-8: memory that peers read and write by handles over RDMA, registered on both sides, so that devices move
// its bytes: as far as the handle goes, for as long as its region is, and with checksums at no connection's
// cost.
#include <algorithm>
#include <atomic>
#include <deque>
#include <optional>

#include "integration/bulk/counted_pattern.hpp"
#include "integration/bulk/shared_region_courses.hpp"
#include "integration/verbs/verbs_testing.hpp"
#include "weft/detail/bulk/bulk_host.hpp"
#include "weft/detail/bulk/bulk_peer.hpp"

namespace weft::verbs_testing {
namespace {

class VerbsBulk : public VerbsTest {};

/// A host, a client of it, and memory of that client's which its device reads and writes.
class VerbsBulkAccesses : public VerbsTest {
 protected:
  /// Long enough that a device fetches it, and that it goes in pieces.
  static constexpr std::size_t kRegionBytes = 300'000;

  void SetUp() override {
    server_.emplace(ServerOptions{.listen = {"verbs://127.0.0.1:0"}, .logger = &logger_},
                    transports(options()));
    host_.emplace(*server_);
    server_->start().value();
    client_.emplace(loop(), ClientOptions{.connect = server_->urls().front(), .logger = &logger_},
                    transports(options()));
    lease_ = client_->register_memory(memory_).value();
    ASSERT_FALSE(lease_.empty());
  }
  void TearDown() override {
    EXPECT_EQ(client_->carried_by(), "verbs");
    EXPECT_EQ(client_->stats().connections, 1u);
    EXPECT_EQ(server_->stats().protocol_errors, 0u);
    EXPECT_TRUE(turn_until(loop(), [this] { return live_ == 0; })) << "memory of a region is held";
  }

  BulkRegion share(BulkRights rights) {
    return host_->share(testing::counted_pattern(kRegionBytes, live_), rights).value();
  }
  Result<void> read(BulkHandle handle, std::uint64_t offset, MutableBytes into) {
    return loop().block_on(BulkPeer{*client_}.read(handle, offset, into));
  }
  Result<void> write(BulkHandle handle, std::uint64_t offset, Bytes from) {
    return loop().block_on(BulkPeer{*client_}.write(handle, offset, from));
  }
  MutableBytes part(std::size_t bytes) { return MutableBytes{memory_}.subspan(kGuard, bytes); }
  void clear() { std::ranges::fill(memory_, kUntouched); }
  bool is_clear() const { return testing::all_are(memory_, kUntouched); }
  /// True when what lies around the part of so many bytes is as clear() left it.
  bool is_clear_around(std::size_t bytes) const {
    return testing::all_are(Bytes{memory_}.first(kGuard), kUntouched) &&
           testing::all_are(Bytes{memory_}.subspan(kGuard + bytes), kUntouched);
  }

  std::atomic<int> live_ = 0;

 private:
  static constexpr std::size_t kGuard = 4096;
  static constexpr std::byte kUntouched{0xEE};

  faults::CountingLogger logger_;
  std::vector<std::byte> memory_ = std::vector<std::byte>(kRegionBytes + 2 * kGuard);
  std::optional<Server> server_;
  std::optional<BulkHost> host_;
  std::optional<Client> client_;
  MemoryLease lease_;
};

INSTANTIATE_TEST_SUITE_P(Verbs, VerbsBulkAccesses, ::testing::ValuesIn(kKinds), name_of);

TEST_P(VerbsBulkAccesses, ReachEachPartOfARegionAndNothingBeyondIt) {
  BulkRegion region = share(BulkRights::kReadAndWrite);
  const std::vector<std::byte> whole = testing::pattern(kRegionBytes);
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{100'001}, kRegionBytes - 13, kRegionBytes}) {
    const std::size_t offset = std::min<std::size_t>(13, kRegionBytes - bytes);
    clear();
    ASSERT_TRUE(read(region.handle(), offset, part(bytes)).ok()) << bytes;
    EXPECT_TRUE(testing::same_bytes(part(bytes), Bytes{whole}.subspan(offset, bytes))) << bytes;
    EXPECT_TRUE(is_clear_around(bytes)) << bytes;
    std::ranges::copy(testing::pattern(bytes, 7), part(bytes).begin());
    ASSERT_TRUE(write(region.handle(), offset, part(bytes)).ok()) << bytes;
    const Bytes there = region.memory();
    EXPECT_TRUE(testing::same_bytes(there.subspan(offset, bytes), part(bytes))) << bytes;
    EXPECT_TRUE(testing::same_bytes(there.first(offset), Bytes{whole}.first(offset))) << bytes;
    EXPECT_TRUE(testing::same_bytes(there.subspan(offset + bytes), Bytes{whole}.subspan(offset + bytes)))
        << bytes;
    std::ranges::copy(whole, region.memory().begin());
  }
  BulkHandle forged = region.handle();
  forged.bytes *= 4;
  clear();
  for (const std::uint64_t offset : {std::uint64_t{1}, std::uint64_t{kRegionBytes}, ~std::uint64_t{0}}) {
    EXPECT_EQ(read(forged, offset, part(kRegionBytes)).status().code(), StatusCode::kOutOfRange) << offset;
    EXPECT_EQ(write(forged, offset, part(kRegionBytes)).status().code(), StatusCode::kOutOfRange) << offset;
  }
  EXPECT_TRUE(is_clear());
  EXPECT_TRUE(testing::same_bytes(region.memory(), whole));
}

TEST_P(VerbsBulkAccesses, NeedTheKeyAndTheRightsOfARegionThatIsStillShared) {
  BulkRegion readable = share(BulkRights::kRead);
  BulkRegion writable = share(BulkRights::kWrite);
  clear();
  const auto refuses_to_read = [&](BulkHandle handle, StatusCode code) {
    EXPECT_EQ(read(handle, 0, part(kRegionBytes)).status().code(), code);
  };
  const auto refuses_to_write = [&](BulkHandle handle, StatusCode code) {
    EXPECT_EQ(write(handle, 0, part(kRegionBytes)).status().code(), code);
  };
  BulkHandle to_write = readable.handle();
  BulkHandle to_read = writable.handle();
  to_write.rights = to_read.rights = BulkRights::kReadAndWrite;
  refuses_to_write(to_write, StatusCode::kPermissionDenied);
  refuses_to_read(to_read, StatusCode::kPermissionDenied);
  to_write.key_low ^= 1;
  refuses_to_read(to_write, StatusCode::kNotFound);
  refuses_to_write(to_write, StatusCode::kNotFound);
  to_read.region = readable.handle().region;
  refuses_to_read(to_read, StatusCode::kNotFound);
  refuses_to_write(to_read, StatusCode::kNotFound);
  const BulkHandle ended = readable.handle();
  ASSERT_TRUE(read(ended, 0, part(kRegionBytes)).ok()) << "a device has used it";
  clear();
  readable.revoke();
  refuses_to_read(ended, StatusCode::kNotFound);
  EXPECT_TRUE(is_clear());
  EXPECT_TRUE(testing::same_bytes(writable.memory(), testing::pattern(kRegionBytes)));
}

INSTANTIATE_TEST_SUITE_P(Verbs, VerbsBulk, ::testing::ValuesIn(kKinds), name_of);

TEST_P(VerbsBulk, WritersCostNoReaderTheConnectionWhereThereAreChecksums) {
  constexpr std::size_t kRegionBytes = std::size_t{1} << 20;
  std::atomic<int> live = 0;
  faults::CountingLogger logger;
  ServerOptions options{.listen = {"verbs://127.0.0.1:0"}};
  options.checksums = true;
  options.logger = &logger;
  Server server{std::move(options), transports(this->options())};
  BulkHost host{server};
  server.start().value();
  BulkRegion region =
      host.share(testing::counted_pattern(kRegionBytes, live), BulkRights::kReadAndWrite).value();
  {
    std::deque<Client> clients;
    // Each round of all takes seconds on devices of an emulated machine.
    testing::SharedRegionCourses courses{region.handle(), 3};
    const auto one_more = [&]() -> Client& {
      return clients.emplace_back(loop(), ClientOptions{.connect = server.urls().front(), .logger = &logger},
                                  transports(this->options()));
    };
    courses.write_by(one_more());
    courses.write_by(one_more());
    for (const std::size_t bytes : {kRegionBytes, std::size_t{100'000}, std::size_t{3'000}}) {
      courses.read_by(one_more(), bytes);
    }
    courses.run(loop());
    for (const Client& each : clients) EXPECT_EQ(each.stats().connections, 1u);
    EXPECT_EQ(clients.front().carried_by(), "verbs");
  }
  EXPECT_EQ(server.stats().protocol_errors, 0u);
  region.revoke();
  EXPECT_TRUE(eventually([&] { return live == 0; }));
}

}  // namespace
}  // namespace weft::verbs_testing
