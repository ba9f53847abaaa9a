// SPDX-License-Identifier: Apache-2.0
// BU-1, BU-3: what an item of a stream costs each side over UCX's shared memory, and what a thousand blocks
// of 4 KiB do.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "integration/counted_items.hpp"
#include "integration/ucx/ucx_handlers.hpp"

namespace weft::ucx_counting_tests {
namespace {

using counted_items::read_items;
using counted_items::write_and_read_items;
using counted_items::write_items;

class UcxItems : public counted_items::CountedItems {
 protected:
  UcxItems() : CountedItems("ucx://127.0.0.1:0", &transports) {}

 private:
  static TransportOptions transports() {
    TransportOptions options;
    options.ucx = ucx_testing::options_of("peer_shm");
    return options;
  }
};

TEST_F(UcxItems, FromTheServerAllocateNothing) {
  ASSERT_NO_FATAL_FAILURE(count(1, read_items));
  expect_no_allocations();
}
TEST_F(UcxItems, FromTheClientAllocateNothing) {
  ASSERT_NO_FATAL_FAILURE(count(1, write_items));
  expect_no_allocations();
}
TEST_F(UcxItems, ThatAreAnsweredOnAHundredStreamsAllocateNothing) {
  ASSERT_NO_FATAL_FAILURE(count(100, write_and_read_items));
  expect_no_allocations();
}
TEST_F(UcxItems, FromTheServerHardlyAskTheKernel) {
  ASSERT_NO_FATAL_FAILURE(count(1, read_items));
  expect_few_kernel_calls();
}
TEST_F(UcxItems, FromTheClientHardlyAskTheKernel) {
  ASSERT_NO_FATAL_FAILURE(count(1, write_items));
  expect_few_kernel_calls();
}

constexpr std::size_t kBlock = 4096;
constexpr std::size_t kBlocks = 1000;
constexpr std::size_t kBytes = kBlocks * kBlock;
// Blocks lie apart, so that each is a run of its own.
constexpr std::size_t kApart = 2 * kBlock;

/// A client that puts attachments into memory of a server on the same loop, whose place each handler chooses.
class UcxBlocks : public ::testing::Test {
 protected:
  /// Of one call, both sides together.
  struct Costs {
    std::uint64_t sends = 0;
    std::uint64_t receives = 0;
    /// The most that was taken at a time beyond what was there before.
    std::size_t heap_bytes = 0;
  };

  UcxBlocks()
      : server_(ServerOptions{.listen = {"ucx://127.0.0.1:0"}, .threads = 0, .loop = loop_.get()},
                transports()) {
    server_.register_handler("put", [this](IncomingAttachment& data) { return put(data); });
    server_.start().value();
    client_.emplace(*loop_, ClientOptions{.connect = server_.urls().front()}, transports());
  }
  static TransportOptions transports() {
    TransportOptions options;
    options.ucx = ucx_testing::options_of("peer_shm");
    return options;
  }
  Task<Result<std::uint64_t>> put(IncomingAttachment& data) {
    auto receiving = data.into(into_);
    const Result<void> whole = co_await std::move(receiving);
    if (!whole.ok()) co_return whole.status();
    co_return data.size();
  }
  static Task<void> call(Client* client, AttachmentView attachment) {
    const CallOptions options{.attachment = attachment};
    const Result<std::uint64_t> size =
        co_await client->call<remote<"put", std::uint64_t(IncomingAttachment&)>>(options);
    EXPECT_TRUE(size.ok() && *size == attachment.bytes()) << size.status().to_string();
  }
  Costs count(AttachmentView attachment, LandingView into, const char* what) {
    into_ = into;
    for (int warm_up = 0; warm_up < 3; ++warm_up) loop_->block_on(call(&*client_, attachment));
    const ConnectionStats sent = client_->stats().traffic;
    const ConnectionStats received = server_.stats().traffic;
    testing::restart_heap_peak();
    const std::size_t heap = testing::heap_bytes();
    loop_->block_on(call(&*client_, attachment));
    const Costs costs{client_->stats().traffic.sends - sent.sends,
                      server_.stats().traffic.receives - received.receives,
                      testing::heap_peak_bytes() - heap};
    std::printf("%s: %llu sends, %llu receives, %zu bytes of the heap\n", what,
                static_cast<unsigned long long>(costs.sends), static_cast<unsigned long long>(costs.receives),
                costs.heap_bytes);
    return costs;
  }
  static AttachmentView sent_from(Bytes memory) {
    return AttachmentView::strided(memory, kBlocks, kBlock, kApart);
  }
  static LandingView landed_in(MutableBytes memory) {
    return LandingView::strided(memory, kBlocks, kBlock, kApart);
  }
  /// Copies of ours would take chunks, a message for each 8 KiB, and two receives for each of these.
  static void expect_no_copies(const Costs& costs) {
    EXPECT_LE(costs.sends, 40u);
    EXPECT_LE(costs.receives, 40u);
    EXPECT_TRUE(!testing::kHeapIsCounted || costs.heap_bytes <= 32u * 1024) << costs.heap_bytes;
  }

  std::vector<std::byte> memory_ = std::vector<std::byte>(kBlocks * kApart);
  std::vector<std::byte> other_ = std::vector<std::byte>(kBlocks * kApart);
  LandingView into_;
  std::unique_ptr<Loop> loop_ = Loop::create().value();
  Server server_;
  std::optional<Client> client_;
};

TEST_F(UcxBlocks, ThatAreSentAreNotCopied) {
  expect_no_copies(count(sent_from(memory_), MutableBytes{other_}.first(kBytes), "out of blocks"));
}
TEST_F(UcxBlocks, ThatAreLandedInAreNotCopiedTo) {
  expect_no_copies(count(Bytes{memory_}.first(kBytes), landed_in(other_), "into blocks"));
}
TEST_F(UcxBlocks, ThatLandInOthersAreNotCopied) {
  expect_no_copies(count(sent_from(memory_), landed_in(other_), "out of blocks into blocks"));
}

}  // namespace
}  // namespace weft::ucx_counting_tests
