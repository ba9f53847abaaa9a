// SPDX-License-Identifier: Apache-2.0
// Containers, lists and views that an attachment is taken from.
#include "weft/detail/calls/attachment_view.hpp"

#include <gtest/gtest.h>

#include <array>
#include <type_traits>
#include <vector>

namespace weft {

namespace {

static_assert(std::is_convertible_v<std::vector<std::byte>&, AttachmentView>);
static_assert(std::is_convertible_v<const std::array<std::byte, 4>&, AttachmentView>);
static_assert(std::is_convertible_v<std::vector<Bytes>&, AttachmentView>);
static_assert(std::is_convertible_v<std::span<Bytes>, AttachmentView>);
static_assert(!std::is_convertible_v<std::vector<std::byte>, AttachmentView>, "it would dangle");

TEST(AttachmentViews, TakeAContainerThatHasANameAndAListThatMayBeChanged) {
  std::vector<std::byte> memory(9);
  std::vector<Bytes> pieces{Bytes{memory}, Bytes{memory}.first(4)};
  EXPECT_EQ(AttachmentView{memory}.bytes(), 9u);
  const AttachmentView list = pieces;
  EXPECT_EQ(list.bytes(), 13u);
  EXPECT_EQ(AttachmentView{std::span{pieces}}.bytes(), 13u);
  EXPECT_EQ(AttachmentView{list}.bytes(), 13u);
}

}  // namespace

}  // namespace weft
