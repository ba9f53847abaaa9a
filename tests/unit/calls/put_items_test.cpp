// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <memory>

#include "weft/detail/calls/stream/stream_side.hpp"
#include "weft/detail/calls/threads/stream_exchange.hpp"
#include "weft/detail/memory/budget.hpp"
#include "weft/detail/wire/heads.hpp"

namespace weft::calls_testing {

using namespace weft::detail;

namespace {

class Exchange final : public StreamExchange {
 public:
  using StreamExchange::open;

 private:
  void post() noexcept override {}
};

StreamTerms terms_of_test() {
  return {.memory = std::make_shared<MemoryBudget>(std::size_t{1} << 20),
          .window = 1 << 16,
          .item_bytes_max = 1 << 10};
}

TEST(PutItems, AFlushTellsWhyAnItemWasNotSent) {
  Exchange exchange;
  exchange.open(terms_of_test());
  ASSERT_EQ(exchange.put().put(as_bytes("an item")), PutItems::Put::kTaken);
  EXPECT_FALSE(exchange.put().have_left());
  const Status why{StatusCode::kResourceExhausted, Layer::kRpc, "no memory to send it"};
  exchange.put().end(why);
  EXPECT_TRUE(exchange.put().have_left());
  EXPECT_EQ(exchange.put().flush().message(), "no memory to send it");
  EXPECT_EQ(exchange.put().put(as_bytes("another")), PutItems::Put::kNotTaken);
  EXPECT_FALSE(exchange.has_ended()) << "items may still be read";
}

TEST(PutItems, AFlushSucceedsWhenAllItemsHadLeftBeforeTheEnd) {
  Exchange exchange;
  exchange.open(terms_of_test());
  ASSERT_EQ(exchange.put().put(as_bytes("an item")), PutItems::Put::kTaken);
  bool ends = false;
  const ItemBlocks taken = exchange.put().take(0, ends);
  EXPECT_TRUE(taken.has_one());
  exchange.put().sent(wire::item_cost(7));
  exchange.put().end({StatusCode::kUnavailable, Layer::kRpc, "the peer reads no more"});
  EXPECT_TRUE(exchange.put().flush().ok());
}

}  // namespace
}  // namespace weft::calls_testing
