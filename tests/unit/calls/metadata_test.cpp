// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/terms/metadata.hpp"

#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/detail/calls/terms/answer_metadata.hpp"
#include "weft/detail/memory/local_budget.hpp"

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

TEST(Metadata, KeepsRepeatedKeysInOrder) {
  Metadata metadata;
  metadata.add("a", "1").value();
  metadata.add("b", "2").value();
  metadata.add("a", "3").value();
  metadata.add("a", *metadata.view().find("b")).value();
  std::string told;
  for (const auto& [key, value] : metadata.view()) told += std::string{key} + std::string{value};
  EXPECT_EQ(told, "a1b2a3a2");
  EXPECT_EQ(metadata.view().find("a"), "1") << "the first value";
  EXPECT_TRUE(detail::is_metadata(metadata.view().bytes()));
  metadata.set("a", "4").value();
  EXPECT_EQ(pairs_of(metadata), (Pairs{{"a", "4"}, {"b", "2"}})) << "set() replaces all values";
  EXPECT_EQ(std::distance(metadata.view().begin(), metadata.view().end()), 2);
}

TEST(Metadata, HasTheSameLimitsForRepeatedKeys) {
  Metadata metadata;
  for (std::size_t i = 0; i < kMetadataPairsMax; ++i) metadata.add("k", "v").value();
  EXPECT_EQ(metadata.add("k", "v").status().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(metadata.add("", "v").status().code(), StatusCode::kInvalidArgument);
  Metadata large;
  large.add("k", std::string(wire::kMetadataBytesMax - 10, 'v')).value();
  EXPECT_EQ(large.add("k", "").status().code(), StatusCode::kOk);
  EXPECT_EQ(large.view().bytes().size(), wire::kMetadataBytesMax);
  EXPECT_EQ(large.add("k", "").status().code(), StatusCode::kResourceExhausted);
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

TEST(Metadata, OfAPeerIsWholePairsWithKeys) {
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
  EXPECT_TRUE(detail::is_metadata(twice)) << "two values of one key";
  std::vector<std::byte> no_key(5);
  no_key[2] = std::byte{1};
  EXPECT_FALSE(detail::is_metadata(no_key));
  EXPECT_FALSE(detail::is_metadata(std::vector<std::byte>(100, std::byte{0xFF})));
}

class ReceivedMetadata : public ::testing::Test {
 protected:
  static Bytes one_pair() { return as_bytes(std::string_view{"\x01\0\x01\0kv", 6}); }

  std::shared_ptr<MemoryBudget> budget_ = std::make_shared<MemoryBudget>(std::size_t{1} << 20);
  LocalBudget memory_{budget_};
};

TEST_F(ReceivedMetadata, AddsUpAndCharges) {
  AnswerMetadata metadata;
  EXPECT_TRUE(metadata.take(one_pair(), true, memory_).ok());
  EXPECT_TRUE(metadata.take(one_pair(), true, memory_).ok());
  EXPECT_TRUE(metadata.take(one_pair(), false, memory_).ok());
  EXPECT_EQ(metadata.initial().bytes().size(), 12u);
  EXPECT_EQ(metadata.trailing().find("k"), "v");
  EXPECT_EQ(memory_.free(), budget_->limit() - 18);
  const AnswerMetadata copy = metadata;
  metadata = {};
  EXPECT_EQ(memory_.free(), budget_->limit() - 18) << "a copy keeps the bytes";
  EXPECT_EQ(copy.initial().find("k"), "v");
}

TEST_F(ReceivedMetadata, GivesTheMemoryBack) {
  {
    AnswerMetadata metadata;
    for (std::size_t i = 0; i < kMetadataPairsMax; ++i) {
      EXPECT_TRUE(metadata.take(one_pair(), true, memory_).ok());
    }
    EXPECT_EQ(metadata.take(one_pair(), true, memory_).code(), StatusCode::kResourceExhausted);
    EXPECT_EQ(metadata.initial().bytes().size(), 6 * kMetadataPairsMax) << "the earlier ones stay";
  }
  EXPECT_EQ(memory_.free(), budget_->limit());
}

TEST_F(ReceivedMetadata, FailsWithoutMemoryAndForMalformedPairs) {
  AnswerMetadata metadata;
  EXPECT_EQ(metadata.take(one_pair().first(5), false, memory_).code(), StatusCode::kDataLoss);
  EXPECT_EQ(metadata.take(std::vector<std::byte>(wire::kMetadataBytesMax + 1), false, memory_).code(),
            StatusCode::kResourceExhausted);
  const std::size_t all = memory_.free();
  ASSERT_TRUE(memory_.try_reserve(all));
  EXPECT_EQ(metadata.take(one_pair(), false, memory_).code(), StatusCode::kResourceExhausted);
  memory_.release(all);
  EXPECT_TRUE(metadata.empty());
  EXPECT_TRUE(metadata.take({}, false, memory_).ok());
  EXPECT_TRUE(metadata.empty());
}

}  // namespace
}  // namespace weft
