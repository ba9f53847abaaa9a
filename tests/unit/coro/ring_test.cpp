// SPDX-License-Identifier: Apache-2.0
// The queue under channels and inboxes.
#include "weft/detail/coro/ring.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace weft::detail {
namespace {

TEST(Rings, ThatGrowKeepWhatThereIsInItsOrder) {
  Ring<std::unique_ptr<int>> ring;
  EXPECT_TRUE(ring.empty());
  EXPECT_TRUE(ring.full()) << "it has no room yet";
  int pushed = 0;
  int popped = 0;
  while (ring.capacity() < 64) {
    ASSERT_TRUE(ring.try_grow());
    // Not from the beginning of its memory on.
    for (int i = 0; i < 5 && !ring.empty(); ++i) EXPECT_EQ(*ring.pop_front(), popped++);
    while (!ring.full()) ring.push_back(std::make_unique<int>(pushed++));
  }
  EXPECT_EQ(ring.size(), 64u);
  EXPECT_EQ(*ring.front(), popped);
  EXPECT_EQ(*ring[10], popped + 10);
  EXPECT_EQ(*ring.back(), pushed - 1);
  while (!ring.empty()) EXPECT_EQ(*ring.pop_front(), popped++);
  EXPECT_EQ(popped, pushed);
}

}  // namespace
}  // namespace weft::detail
