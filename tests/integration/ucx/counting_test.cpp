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
  /// Costs of one call, both sides together.
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
  /// A server of its own and a client of it.
  struct Pair {
    explicit Pair(UcxBlocks& test)
        : server(ServerOptions{.listen = {"ucx://127.0.0.1:0"}, .threads = 0, .loop = test.loop_.get()},
                 transports()),
          client(*test.loop_, ClientOptions{.connect = started(test)}, transports()) {}
    std::string started(UcxBlocks& test) {
      server.register_handler("put", [&test](IncomingAttachment& data) { return test.put(data); });
      server.start().value();
      return server.urls().front();
    }

    Server server;
    Client client;
  };
  /// Calls while the allocation `first` fails, and those behind it, `count` of them. With 0 none does.
  static Task<Status> call_with_little_memory(Client* client, AttachmentView attachment, std::size_t first,
                                              std::size_t count) {
    const CallOptions options{.attachment = attachment};
    testing::fail_allocations(first, count);
    try {
      const Result<std::uint64_t> size =
          co_await client->call<remote<"put", std::uint64_t(IncomingAttachment&)>>(options);
      co_return size.status();
    } catch (const std::bad_alloc&) {
      co_return Status::of<detail::kOutOfMemory>();
    }
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

// Each allocation of one call fails once, and all of them from it on: of what lists the runs, and of what a
// part takes that did not fit. The call ends, and those behind it are served.
TEST_F(UcxBlocks, SurviveEveryAllocationThatFails) {
  if (!testing::kHeapIsCounted) GTEST_SKIP() << "a sanitizer has the heap";
  for (std::size_t i = 0; i < memory_.size(); ++i) memory_[i] = static_cast<std::byte>(i / 7);
  const AttachmentView from = sent_from(memory_);
  for (const std::size_t count : {std::size_t{1}, std::size_t{30}}) {
    bool reached = true;
    std::size_t answered = 0;
    std::size_t which = 1;
    for (; reached && which < 2000; ++which) {
      // A new client and server, which have listed no runs yet.
      Pair pair{*this};
      into_ = MutableBytes{other_}.first(kBytes);
      loop_->block_on(call(&pair.client, Bytes{memory_}.first(kBytes)));
      into_ = landed_in(other_);
      std::ranges::fill(other_, std::byte{0xEE});
      Status how = loop_->block_on(call_with_little_memory(&pair.client, from, which, count));
      reached = !testing::allocation_still_to_fail();
      testing::fail_allocations(0, 0);
      if (how.ok()) {
        ++answered;
        for (std::size_t at = 0; at < other_.size(); ++at) {
          const bool is_block = at % kApart < kBlock;
          ASSERT_EQ(other_[at], is_block ? memory_[at] : std::byte{0xEE}) << which << " at " << at;
        }
      }
      // A connection that was lost for want of memory is lost once.
      how = loop_->block_on(call_with_little_memory(&pair.client, from, 0, 0));
      if (!how.ok()) how = loop_->block_on(call_with_little_memory(&pair.client, from, 0, 0));
      ASSERT_TRUE(how.ok()) << which << ": " << how.to_string();
    }
    EXPECT_GT(which, 5u);
    EXPECT_GT(answered, 0u);
  }
}

}  // namespace
}  // namespace weft::ucx_counting_tests
