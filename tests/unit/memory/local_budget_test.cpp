// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/memory/local_budget.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace weft {

using namespace weft::detail;
namespace {

TEST(LocalBudget, TakesFromTheSharedOneInSteps) {
  const auto shared = std::make_shared<MemoryBudget>(std::size_t{1} << 30);
  {
    LocalBudget local{shared};
    ASSERT_TRUE(local.try_reserve(100));
    const std::size_t step = shared->used() - 100;
    EXPECT_GT(step, 10'000u);
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(local.try_reserve(100));
    EXPECT_EQ(shared->used(), step + 100) << "nothing was taken from the shared one";
    EXPECT_EQ(local.free(), (std::size_t{1} << 30) - 10'100);
    ASSERT_TRUE(local.try_reserve(10 * step));
    local.release(10 * step + 10'100);
    EXPECT_LE(shared->used(), 2 * step) << "what nobody uses was given back";
  }
  EXPECT_EQ(shared->used(), 0u);
}

TEST(LocalBudget, GivesTheLastByteAndNotOneMore) {
  const auto shared = std::make_shared<MemoryBudget>(10'000);
  LocalBudget local{shared};
  LocalBudget other{shared};
  ASSERT_TRUE(local.try_reserve(9'990));
  EXPECT_FALSE(local.try_reserve(11));
  EXPECT_TRUE(other.try_reserve(10));
  EXPECT_FALSE(other.try_reserve(1));
  local.release(9'990);
  EXPECT_TRUE(other.try_reserve(9'000)) << "of what is free one step at most stays with the other";
  other.release(9'010);
}

}  // namespace
}  // namespace weft
