// SPDX-License-Identifier: Apache-2.0
// What an item of a stream costs each side over TCP, and a stream while nothing happens on it.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>
#include <weft/weft.hpp>

#include "integration/counted_items.hpp"

namespace weft::stream_counting_tests {
namespace {

using counted_items::Item;
using counted_items::read_items;
using counted_items::take_items;
using counted_items::write_and_read_items;
using counted_items::write_items;

class CountedItems : public counted_items::CountedItems {
 protected:
  CountedItems() : counted_items::CountedItems("tcp://127.0.0.1:0", [] { return TransportOptions{}; }) {}
};

TEST_F(CountedItems, FromTheServerAllocateNothing) {
  ASSERT_NO_FATAL_FAILURE(count(1, read_items));
  expect_no_allocations();
}
TEST_F(CountedItems, FromTheClientAllocateNothing) {
  ASSERT_NO_FATAL_FAILURE(count(1, write_items));
  expect_no_allocations();
}
TEST_F(CountedItems, OfAHundredStreamsAllocateNothing) {
  ASSERT_NO_FATAL_FAILURE(count(100, read_items));
  expect_no_allocations();
}
TEST_F(CountedItems, ThatAreAnsweredOneByOneAllocateNothing) {
  ASSERT_NO_FATAL_FAILURE(count(1, write_and_read_items));
  expect_no_allocations();
}
TEST_F(CountedItems, ThatAreAnsweredOnAHundredStreamsAllocateNothing) {
  ASSERT_NO_FATAL_FAILURE(count(100, write_and_read_items));
  expect_no_allocations();
}
TEST_F(CountedItems, FromTheServerHardlyAskTheKernel) {
  ASSERT_NO_FATAL_FAILURE(count(1, read_items));
  expect_few_kernel_calls();
}
TEST_F(CountedItems, FromTheClientHardlyAskTheKernel) {
  ASSERT_NO_FATAL_FAILURE(count(1, write_items));
  expect_few_kernel_calls();
}
TEST_F(CountedItems, OfAHundredStreamsHardlyAskTheKernel) {
  ASSERT_NO_FATAL_FAILURE(count(100, read_items));
  expect_few_kernel_calls();
}

/// Streams that are open and on which nothing happens.
class IdleStreams : public CountedItems {
 protected:
  /// Opens so many, and turns until their handlers wait for items.
  void open(std::size_t streams) {
    const std::uint64_t running = running_streams() + streams;
    opened_.reserve(opened_.size() + streams);
    client_loop().post([this, streams] {
      for (std::size_t i = 0; i < streams; ++i) opened_.push_back(client().open<take_items>());
    });
    for (int i = 0; i < 1000 && running_streams() < running; ++i) turn();
    ASSERT_EQ(running_streams(), running);
    for (int i = 0; i < 10; ++i) turn();
  }
  ~IdleStreams() override {
    client_loop().post([this] { opened_.clear(); });
    for (int i = 0; i < 10'000 && running_streams() > 0; ++i) turn();
  }

 private:
  std::vector<ClientStream<void, Item, void>> opened_;
};

TEST_F(IdleStreams, TakeABlockOnTheClientAndTwoOnTheServer) {
  if (!testing::kHeapIsCounted || detail::kFramePoolBypassed) GTEST_SKIP() << "this build cannot count";
  constexpr std::size_t kStreams = 4096;
  // Of each: a place in the tables of calls, which grow by doubling; and on the server the coroutine of
  // take_items() with ours around it.
  constexpr std::size_t kTables = 48;
  constexpr std::size_t kCoroutines = 704;
  open(kStreams);  // these take what the threads' caches have
  restart();
  open(kStreams);
  RecordProperty("bytes_of_the_client", std::to_string(client_bytes() / kStreams));
  RecordProperty("bytes_of_the_server", std::to_string(server_bytes() / kStreams));
  EXPECT_LE(client_bytes() / kStreams, 512 + kTables);
  EXPECT_LE(server_bytes() / kStreams, 512 + kTables + kCoroutines);
  EXPECT_GE(client_bytes() / kStreams, 512u) << "not all was counted";
  EXPECT_GE(server_bytes() / kStreams, 512u) << "not all was counted";
}

}  // namespace
}  // namespace weft::stream_counting_tests
