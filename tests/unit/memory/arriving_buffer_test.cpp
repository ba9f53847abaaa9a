// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/memory/arriving_buffer.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

namespace weft {

using namespace weft::detail;
namespace {

const auto kBudgetBytes = std::size_t{1000};

class Arriving : public ::testing::Test {
 protected:
  ~Arriving() override { EXPECT_EQ(budget_->used(), 0u); }
  ArrivingBuffer arriving(std::size_t bytes) { return {Buffer::try_allocate(bytes).value(), budget_}; }

  std::shared_ptr<MemoryBudget> budget_ = std::make_shared<MemoryBudget>(kBudgetBytes);
};

TEST_F(Arriving, CountsWhatHasArrivedAndNotWhatWasAnnounced) {
  ArrivingBuffer huge = arriving(1'000'000);
  EXPECT_EQ(budget_->used(), 0u);
  EXPECT_TRUE(huge.charge(300));
  EXPECT_TRUE(huge.charge(200)) << "less than before takes nothing back";
  EXPECT_EQ(budget_->used(), 300u);
  EXPECT_FALSE(huge.charge(1001));
  EXPECT_EQ(budget_->used(), 300u) << "what failed takes nothing";
  const ArrivingBuffer moved = std::move(huge);
  EXPECT_EQ(moved.charged(), 300u);
  EXPECT_EQ(budget_->used(), 300u);
}

TEST_F(Arriving, ABufferThatIsTakenCountsUntilItsEnd) {
  ArrivingBuffer whole = arriving(400);
  const std::byte* const place = whole.mutable_bytes().data();
  ASSERT_TRUE(whole.charge(400));
  Buffer buffer = whole.take().value();
  EXPECT_EQ(buffer.data(), place);
  EXPECT_EQ(budget_->used(), 400u);
  whole = {};
  EXPECT_EQ(budget_->used(), 400u);
  buffer = Buffer{};
  EXPECT_EQ(budget_->used(), 0u);
}

TEST_F(Arriving, ABudgetLivesAsLongAsABufferThatWasTaken) {
  std::weak_ptr<MemoryBudget> watched;
  Buffer buffer;
  {
    const auto own = std::make_shared<MemoryBudget>(kBudgetBytes);
    watched = own;
    ArrivingBuffer whole{Buffer::try_allocate(10).value(), own};
    ASSERT_TRUE(whole.charge(10));
    buffer = whole.take().value();
  }
  EXPECT_FALSE(watched.expired());
  buffer = Buffer{};
  EXPECT_TRUE(watched.expired());
}

}  // namespace
}  // namespace weft
