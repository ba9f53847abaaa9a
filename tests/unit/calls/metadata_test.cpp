// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/terms/metadata.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace weft {

using namespace weft::detail;
namespace {

using Pairs = std::map<std::string, std::string>;

Pairs pairs_of(MetadataView view) {
  Pairs pairs;
  for (const auto& [key, value] : view) pairs.emplace(key, value);
  return pairs;
}

TEST(Metadata, IsFoundByItsKeys) {
  Metadata metadata;
  metadata.set("tenant", "blue").value();
  metadata.set("trace", std::string_view{"\0\xFF any bytes", 12}).value();
  metadata.set("empty", "").value();
  EXPECT_EQ(metadata.view().find("tenant"), "blue");
  EXPECT_EQ(metadata.view().find("trace")->size(), 12u);
  EXPECT_EQ(metadata.view().find("empty"), "");
  EXPECT_EQ(metadata.view().find("ten"), std::nullopt);
  EXPECT_TRUE(detail::is_metadata(metadata.view().bytes()));
}

TEST(Metadata, ReplacesWhatAKeyHad) {
  Metadata metadata;
  metadata.set("a", "1").value();
  metadata.set("b", "2").value();
  metadata.set("a", "longer than before").value();
  EXPECT_EQ(pairs_of(metadata), (Pairs{{"a", "longer than before"}, {"b", "2"}}));
  metadata.set("b", *metadata.view().find("a")).value();
  EXPECT_EQ(metadata.view().find("b"), "longer than before") << "what it has itself may be set again";
}

TEST(Metadata, TellsNoneFromEmpty) {
  EXPECT_FALSE(MetadataView{}.is_given());
  const Metadata nothing;
  EXPECT_TRUE(nothing.view().is_given());
  EXPECT_TRUE(nothing.view().empty());
  EXPECT_EQ(MetadataView{}.find("a"), std::nullopt);
}

TEST(Metadata, IsGivenHoweverItCameAbout) {
  const Metadata nothing;
  const Metadata copy = nothing;
  EXPECT_TRUE(copy.view().is_given());
  Metadata full;
  full.set("a", "1").value();
  const Metadata moved = std::move(full);
  full = Metadata{};
  EXPECT_TRUE(full.view().is_given());
  const Metadata again{moved.view()};
  EXPECT_EQ(pairs_of(again), (Pairs{{"a", "1"}}));
}

TEST(Metadata, HasASmallNumberOfPairs) {
  Metadata metadata;
  for (std::size_t i = 0; i < kMetadataPairsMax; ++i) metadata.set("key" + std::to_string(i), "x").value();
  EXPECT_EQ(metadata.set("one more", "x").status().code(), StatusCode::kResourceExhausted);
  metadata.set("key7", "changed").value();
  EXPECT_TRUE(detail::is_metadata(metadata.view().bytes()));
  std::vector<std::byte> too_many;
  for (std::size_t i = 0; i <= kMetadataPairsMax; ++i) {
    Metadata one;
    one.set("key" + std::to_string(i), "x").value();
    const Bytes pair = one.view().bytes();
    too_many.insert(too_many.end(), pair.begin(), pair.end());
  }
  EXPECT_FALSE(detail::is_metadata(too_many));
}

TEST(Metadata, HasLimits) {
  Metadata metadata;
  EXPECT_EQ(metadata.set("", "x").status().code(), StatusCode::kInvalidArgument);
  const std::string most(wire::kMetadataBytesMax - 5, 'x');
  EXPECT_EQ(metadata.set("k", most + "x").status().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(metadata.set(most + "xxxxx", "").status().code(), StatusCode::kResourceExhausted);
  EXPECT_TRUE(metadata.view().empty()) << "what was refused leaves no trace";
  metadata.set("k", most).value();
  EXPECT_EQ(metadata.view().bytes().size(), wire::kMetadataBytesMax);
  metadata.set("k", most).value();
  EXPECT_EQ(metadata.set("l", "").status().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(metadata.view().find("k"), most);
}

TEST(Metadata, OfAPeerIsWholePairsWithKeysOfTheirOwn) {
  Metadata metadata;
  metadata.set("key", "value").value();
  metadata.set("k2", "v").value();
  const Bytes whole = metadata.view().bytes();
  for (std::size_t bytes = 0; bytes <= whole.size(); ++bytes) {
    const bool between_pairs = bytes == 0 || bytes == 12 || bytes == whole.size();
    EXPECT_EQ(detail::is_metadata(whole.first(bytes)), between_pairs) << bytes;
  }
  std::vector<std::byte> twice{whole.begin(), whole.end()};
  twice.insert(twice.end(), whole.begin(), whole.begin() + 12);
  EXPECT_FALSE(detail::is_metadata(twice)) << "two values of one key";
  std::vector<std::byte> no_key(5);
  no_key[2] = std::byte{1};
  EXPECT_FALSE(detail::is_metadata(no_key));
  EXPECT_FALSE(detail::is_metadata(std::vector<std::byte>(100, std::byte{0xFF})));
}

}  // namespace
}  // namespace weft
