// SPDX-License-Identifier: Apache-2.0
// CR-10: secrets that leave nothing behind.
#include "weft/detail/base/secret.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>

namespace weft::detail {
namespace {

TEST(Secret, IsComparedAsAWhole) {
  const Secret secret{"token"};
  EXPECT_TRUE(secret.is("token"));
  for (const char* other : {"", "toke", "tokeN", "Token", "tokenn"}) EXPECT_FALSE(secret.is(other)) << other;
  EXPECT_TRUE(Secret{}.is(""));
}

TEST(Secret, MovesAndLeavesNothing) {
  Secret first{"token"};
  Secret second = std::move(first);
  EXPECT_EQ(second.view(), "token");
  second = Secret{"other"};
  EXPECT_EQ(second.view(), "other");
  second = Secret{};
  EXPECT_TRUE(second.empty());
}

TEST(Secret, MemoryThatIsWipedIsZero) {
  std::string text = "token";
  wipe_memory(text.data(), text.size());
  EXPECT_EQ(text, std::string(5, '\0'));
  wipe_memory(nullptr, 0);
}

}  // namespace
}  // namespace weft::detail
