// SPDX-License-Identifier: Apache-2.0
// Containers, lists and views that an attachment is taken from, and that one lands in.
#include "weft/detail/calls/terms/attachment_view.hpp"

#include <gtest/gtest.h>

#include <array>
#include <type_traits>
#include <vector>

#include "weft/detail/calls/terms/landing_view.hpp"

namespace weft {

namespace {

template <typename Given>
constexpr bool kIsSent = std::is_constructible_v<AttachmentView, Given>;
template <typename Given>
constexpr bool kIsLandedIn = std::is_constructible_v<LandingView, Given>;

static_assert(std::is_convertible_v<std::vector<std::byte>&, AttachmentView>);
static_assert(std::is_convertible_v<const std::array<std::byte, 4>&, AttachmentView>);
static_assert(std::is_convertible_v<std::vector<Bytes>&, AttachmentView>);
static_assert(std::is_convertible_v<std::span<Bytes>, AttachmentView>);
static_assert(!std::is_convertible_v<std::vector<std::byte>, AttachmentView>, "it would dangle");
static_assert(!kIsSent<std::vector<std::byte>> && !kIsLandedIn<std::vector<std::byte>>, "it would dangle");
static_assert(!kIsSent<const std::vector<Bytes>> && !kIsSent<std::array<Bytes, 2>>, "it would dangle");
static_assert(!kIsLandedIn<std::vector<MutableBytes>> && !kIsLandedIn<std::array<MutableBytes, 2>>,
              "it would dangle");
static_assert(kIsSent<std::span<const Bytes>> && kIsSent<std::span<Bytes, 2>>, "a span owns nothing");
static_assert(kIsLandedIn<std::span<const MutableBytes>> && kIsLandedIn<std::span<std::byte, 2>>);
static_assert(kIsLandedIn<const std::vector<MutableBytes>&> && !kIsLandedIn<const std::vector<std::byte>&>);
static_assert(!kIsSent<std::vector<MutableBytes>&> && !kIsSent<std::vector<int>&>);

/// Handles of other libraries convert, also while they are temporary, whatever they may look like beside
/// that.
struct Handle {
  const float* begin() const { return nullptr; }
  const float* end() const { return nullptr; }
  operator MutableBytes() const { return {}; }
  operator std::span<const Bytes>() const { return {}; }
};
struct Described {
  const float* begin() const { return nullptr; }
  const float* end() const { return nullptr; }
  operator AttachmentView() const { return {}; }
  operator LandingView() const { return {}; }
};
static_assert(std::is_convertible_v<Handle, LandingView> && std::is_assignable_v<LandingView&, Handle>);
static_assert(kIsSent<Described> && std::is_assignable_v<AttachmentView&, Described>);
static_assert(kIsLandedIn<Described> && std::is_assignable_v<LandingView&, Described&>);
static_assert(!std::is_assignable_v<AttachmentView&, std::vector<int>&>);
static_assert(std::is_trivially_copyable_v<AttachmentView> && std::is_trivially_copyable_v<LandingView>);

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
