// SPDX-License-Identifier: Apache-2.0
// CR-9: messages grow by Compatible fields, old and new readers and writers in every combination.
#include <gtest/gtest.h>

#include <vector>

#include "unit/codec/codec_testing.hpp"

namespace weft {

using namespace weft::detail;
namespace {

using testing::decode_status;
using testing::encoded;
using testing::encoded_hex;
using testing::from_hex;

struct OrderV1 {
  std::uint32_t id = 0;
  std::string item;
};
struct OrderV2 {
  std::uint32_t id = 0;
  Compatible<std::string, 2> note;
  std::string item;
};
/// Version 3 added one field before and one after that of version 2.
struct OrderV3 {
  Compatible<std::vector<double>, 3> prices;
  std::uint32_t id = 0;
  Compatible<std::string, 2> note;
  std::string item;
  Compatible<bool, 3> urgent;
};

template <typename To, typename From>
To read_as(const From& value) {
  const auto message = encoded(value, std::uint8_t{7});
  DecodeArena arena;
  To out;
  std::uint8_t last = 0;
  const auto result = decode_from(message, arena, out, last);
  EXPECT_TRUE(result.ok()) << result.status().to_string();
  EXPECT_EQ(last, 7);
  return out;
}

TEST(CodecEvolution, AllVersionsHaveOneSchemaHashAndSayTheirAdditionsInWords) {
  EXPECT_EQ(schema_hash<OrderV1>(), schema_hash<OrderV2>());
  EXPECT_EQ(schema_hash<OrderV1>(), schema_hash<OrderV3>());
  EXPECT_EQ((schema_hash<int>()), (schema_hash<int, Compatible<std::string>>()));
  EXPECT_EQ(schema_text<OrderV2>(), "({u32, +v2 string, string})");
}

TEST(CodecEvolution, AnOldReaderIgnoresWhatWasAdded) {
  const auto v1 = read_as<OrderV1>(OrderV3{{{1.5}}, 4, "note", "item", true});
  EXPECT_EQ(v1.id, 4U);
  EXPECT_EQ(v1.item, "item");
  const auto v2 = read_as<OrderV2>(OrderV3{{{1.5}}, 4, "note", "item", true});
  EXPECT_EQ(v2.note, "note");
  EXPECT_EQ(v2.item, "item");
}

TEST(CodecEvolution, ANewReaderFindsTheAdditionsOfAnOldMessageEmpty) {
  const auto v3 = read_as<OrderV3>(OrderV1{4, "item"});
  EXPECT_EQ(v3.id, 4U);
  EXPECT_EQ(v3.item, "item");
  EXPECT_EQ(v3.note, std::nullopt);
  EXPECT_EQ(v3.prices, std::nullopt);
  EXPECT_EQ(read_as<OrderV3>(OrderV2{4, "note", "item"}).note, "note");
}

TEST(CodecEvolution, EachCombinationOfPresentAdditionsComesBack) {
  for (unsigned present = 0; present < 8; ++present) {
    OrderV3 order{.prices = {}, .id = 1, .note = {}, .item = "i", .urgent = {}};
    if ((present & 1) != 0) order.prices = std::vector<double>{2.5, 3.5};
    if ((present & 2) != 0) order.note = "n";
    if ((present & 4) != 0) order.urgent = false;
    const auto out = read_as<OrderV3>(order);
    EXPECT_EQ(out.prices, order.prices);
    EXPECT_EQ(out.note, order.note);
    EXPECT_EQ(out.urgent, order.urgent);
  }
}

TEST(CodecEvolution, AdditionsFromBeforeAreCleared) {
  DecodeArena arena;
  OrderV3 out{.prices = std::vector<double>{1}, .id = 0, .note = "stale", .item = "", .urgent = true};
  ASSERT_TRUE(decode_from(encoded(OrderV1{4, "item"}), arena, out).ok());
  EXPECT_EQ(out.prices, std::nullopt);
  EXPECT_EQ(out.note, std::nullopt);
  EXPECT_EQ(out.urgent, std::nullopt);
}

TEST(CodecEvolution, AnArgumentCanBeAddedToTheEnd) {
  DecodeArena arena;
  int number = 0;
  Compatible<std::string> added = "stale";
  ASSERT_TRUE(decode_from(encoded(5), arena, number, added).ok());
  EXPECT_EQ(added, std::nullopt);
  ASSERT_TRUE(decode_from(encoded(5, Compatible<std::string>{"x"}), arena, number, added).ok());
  EXPECT_EQ(added, "x");
  ASSERT_TRUE(decode_from(encoded(6, Compatible<std::string>{"x"}), arena, number).ok());
  EXPECT_EQ(number, 6);
}

TEST(CodecEvolution, AdditionsStandBehindAllValuesByVersion) {
  const OrderV3 order{.prices = {}, .id = 1, .note = "n", .item = "i", .urgent = true};
  EXPECT_EQ(encoded_hex(order, std::uint8_t{9}),
            "01 00 00 00 01 00 00 00 69 09 "  // id, item, the second argument
            "05 00 00 00 01 00 00 00 6e "     // version 2: note
            "ff ff ff ff "                    // version 3: no prices
            "01 00 00 00 01");                // version 3: urgent
  EXPECT_EQ(encoded_hex(OrderV3{.prices = {}, .id = 1, .note = {}, .item = "", .urgent = {}}),
            "01 00 00 00 00 00 00 00");
}

TEST(CodecEvolution, EveryCutOfAMessageWithAdditionsIsReadOrRefusedSafely) {
  const auto message = encoded(OrderV3{{{1.5, 2.5}}, 4, "note", "item", true});
  const std::size_t plain = encoded_size(OrderV1{4, "item"});
  const std::size_t without_v3 = plain + 4 + 8;
  for (std::size_t size = 0; size < message.size(); ++size) {
    const bool whole = size == plain || size == without_v3;
    const bool good = decode_status<OrderV3>(Bytes{message}.first(size)).ok();
    if (whole) {
      EXPECT_TRUE(good) << size;
    }
    if (size < without_v3 && !whole) {
      EXPECT_FALSE(good) << size;
    }
    EXPECT_EQ(decode_status<OrderV1>(Bytes{message}.first(size)).ok(), good) << size;
  }
}

TEST(CodecEvolution, AGarbledTrailerIsRefused) {
  using Added = Compatible<std::uint16_t>;
  EXPECT_TRUE((decode_status<std::uint8_t, Added>(from_hex("01 02 00 00 00 05 06")).ok()));
  for (const char* bytes : {"01 03 00 00 00 05 06 07",                    // longer than the value
                            "01 01 00 00 00 05",                          // shorter than the value
                            "01 02 00 00 00 05",                          // cut
                            "01 02 00 00",                                // no whole length
                            "01 ff ff ff 7f 00 00",                       // length beyond the end
                            "01 02 00 00 00 05 06 ff ff ff ff",           // ends with an absent one
                            "01 02 00 00 00 05 06 02 00 00 00 05 06 00"}  // rubbish behind
  ) {
    EXPECT_EQ((decode_status<std::uint8_t, Added>(from_hex(bytes))).code(), StatusCode::kInvalidArgument)
        << bytes;
  }
}

static_assert(Encodable<OrderV3> && Decodable<OrderV3>);
static_assert(Encodable<std::pair<int, Compatible<int>>>);
static_assert(!Encodable<std::vector<OrderV2>>, "an addition has no place inside a container");
static_assert(!Encodable<std::optional<OrderV2>>);
static_assert(!Encodable<Compatible<OrderV2>>);
static_assert(!Decodable<std::vector<Compatible<int>>>);

}  // namespace
}  // namespace weft
