// SPDX-License-Identifier: Apache-2.0
// Bytes from a peer that means harm: refused with a status, within bounds of memory and stack.
#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>
#include <list>
#include <map>
#include <new>
#include <random>
#include <set>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "support/sanitizers.hpp"
#include "unit/codec/codec_testing.hpp"

namespace {

/// Bytes that are allocated now, and the most that there were, while a test counts.
struct HeapCount {
  bool on = false;
  std::size_t now = 0;
  std::size_t peak = 0;
  std::size_t calls = 0;
} heap;
constexpr std::size_t kHeader = 16;

[[maybe_unused]] void* counted_new(std::size_t size, const std::nothrow_t&) {
  auto* memory = static_cast<std::byte*>(std::malloc(size + kHeader));
  if (memory == nullptr) return nullptr;
  const std::size_t counted = heap.on ? size : 0;
  std::memcpy(memory, &counted, sizeof counted);
  heap.now += counted;
  heap.calls += heap.on ? 1 : 0;
  heap.peak = std::max(heap.peak, heap.now);
  return memory + kHeader;
}

[[maybe_unused]] void* counted_new(std::size_t size) {
  void* memory = counted_new(size, std::nothrow);
  if (memory == nullptr) throw std::bad_alloc{};
  return memory;
}

[[maybe_unused]] void counted_delete(void* memory) {
  if (memory == nullptr) return;
  auto* start = static_cast<std::byte*>(memory) - kHeader;
  std::size_t counted;
  std::memcpy(&counted, start, sizeof counted);
  heap.now -= counted;
  std::free(start);
}

}  // namespace

// Clang's thread sanitizer brings an operator new that cannot be replaced; nothing is counted then, and every
// bound holds.
#if !WEFT_THREAD_SANITIZER
void* operator new(std::size_t size) {
  return counted_new(size);
}
void* operator new[](std::size_t size) {
  return counted_new(size);
}
void* operator new(std::size_t size, const std::nothrow_t& tag) noexcept {
  return counted_new(size, tag);
}
void* operator new[](std::size_t size, const std::nothrow_t& tag) noexcept {
  return counted_new(size, tag);
}
void operator delete(void* memory) noexcept {
  counted_delete(memory);
}
void operator delete[](void* memory) noexcept {
  counted_delete(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  counted_delete(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  counted_delete(memory);
}
#endif

namespace weft {

using namespace weft::detail;
namespace {

using testing::decode_status;
using testing::encoded;
using testing::from_hex;

struct Empty {};
struct Chain {
  std::unique_ptr<Chain> next;
};
struct Tree {
  std::vector<Tree> children;
};
struct Lists {
  std::list<Lists> below;
  std::vector<bool> flags{true};
};
struct Mixed {
  std::string name;
  std::vector<std::optional<std::pair<std::uint16_t, std::string>>> rows;
  std::map<std::int32_t, std::vector<double>> table;
  std::unordered_set<std::string> tags;
  std::variant<bool, std::string, std::deque<std::uint64_t>> choice;
  std::unique_ptr<std::array<std::list<bool>, 2>> boxed;
  Result<std::set<std::int64_t>> result{std::set<std::int64_t>{}};
  std::chrono::milliseconds wait{};
};

Mixed some_mixed() {
  Mixed mixed;
  mixed.name = "mixed";
  mixed.rows = {std::nullopt, {{7, "seven"}}, {{8, ""}}};
  mixed.table = {{-1, {1.5, 2.5}}, {4, {}}};
  mixed.tags = {"a", "bb", "ccc"};
  mixed.choice = std::deque<std::uint64_t>{1, 2, 3};
  mixed.boxed = std::make_unique<std::array<std::list<bool>, 2>>();
  (*mixed.boxed)[1] = {true, false};
  mixed.result = std::set<std::int64_t>{5, 6};
  return mixed;
}

std::vector<std::byte> repeated(std::size_t times, std::string_view pattern) {
  const auto bytes = from_hex(pattern);
  std::vector<std::byte> out;
  for (std::size_t i = 0; i < times; ++i) out.insert(out.end(), bytes.begin(), bytes.end());
  return out;
}

/// The most memory held at once while `T` is decoded from `message`; `good` says how it went.
template <typename T>
std::size_t decode_peak(Bytes message, bool* good = nullptr) {
  DecodeArena arena;
  T out{};
  heap = {.on = true, .now = 0, .peak = 0, .calls = 0};
  const bool ok = decode_from(message, arena, out).ok();
  heap.on = false;
  if (good != nullptr) *good = ok;
  return heap.peak;
}

/// A failure's text and what a status costs are not the codec's elements.
constexpr std::size_t kStatusBytes = 1024;

TEST(CodecHostile, EachTruncatedPrefixIsRefusedWithWhatAndWhere) {
  const auto message = encoded(some_mixed());
  ASSERT_TRUE(decode_status<Mixed>(message).ok());
  for (std::size_t size = 0; size < message.size(); ++size) {
    const Status status = decode_status<Mixed>(Bytes{message}.first(size));
    ASSERT_EQ(status.code(), StatusCode::kInvalidArgument) << size;
    ASSERT_EQ(status.layer(), Layer::kCodec);
  }
  const Status status = decode_status<int, std::string>(from_hex("01 00 00 00 09 00 00 00 61"));
  EXPECT_EQ(status.message(),
            "malformed message: the message ends inside a value, in value 2, at byte 8 of 9");
}

TEST(CodecHostile, ACountLargerThanTheBytesLeftIsRefusedBeforeMemoryIsTaken) {
  const auto check_one = []<typename T>(const T&) {
    for (const char* count :
         {"ff ff ff ff 00 00 00 00", "ff ff ff 7f 00 00 00 00", "09 00 00 00 00 00 00 00"}) {
      bool good = true;
      EXPECT_LE(decode_peak<T>(from_hex(count), &good), kStatusBytes) << schema_text<T>();
      EXPECT_FALSE(good) << schema_text<T>();
    }
  };
  const auto check = [&]<typename... Ts>(std::tuple<Ts...>*) { (check_one(Ts{}), ...); };
  using All =
      std::tuple<std::string, std::string_view, std::vector<char>, std::vector<double>,
                 std::span<const double>, std::vector<std::string>, std::vector<bool>, std::deque<int>,
                 std::list<std::string>, std::set<int>, std::map<std::string, int>, std::unordered_set<int>,
                 std::unordered_map<int, std::string>, std::vector<std::array<std::array<double, 99>, 99>>>;
  check(static_cast<All*>(nullptr));
}

TEST(CodecHostile, BytesThatAreNoValueAreRefused) {
  EXPECT_FALSE(decode_status<bool>(from_hex("02")).ok());
  EXPECT_FALSE((decode_status<std::array<bool, 2>>(from_hex("01 ff")).ok()));
  EXPECT_FALSE(decode_status<std::optional<int>>(from_hex("02 00 00 00 00")).ok());
  EXPECT_FALSE((decode_status<std::variant<bool, int>>(from_hex("02 00 00 00 00")).ok()));
  EXPECT_FALSE(decode_status<std::set<std::uint8_t>>(from_hex("02 00 00 00 05 05")).ok());
  EXPECT_FALSE(
      (decode_status<std::unordered_map<std::uint8_t, bool>>(from_hex("02 00 00 00 05 00 05 00")).ok()));
  EXPECT_FALSE(decode_status<std::vector<double>>(from_hex("00 00 00 00 00 01 00 00")).ok()) << "padding";
  EXPECT_FALSE(decode_status<Result<int>>(from_hex("00 00 01 00 00 00 00 00 00 00 00 00")).ok()) << "code ok";
  EXPECT_FALSE(decode_status<Result<int>>(from_hex("00 11 01 00 00 00 00 00 00 00 00 00")).ok()) << "code 17";
  EXPECT_FALSE(decode_status<Result<int>>(from_hex("00 05 07 00 00 00 00 00 00 00 00 00")).ok()) << "layer 7";
  EXPECT_FALSE(decode_status<Result<int>>(from_hex("00 05 01 04 00 00 00 00 00 00 00 00")).ok()) << "retry 4";
  EXPECT_FALSE(decode_status<Result<int>>(from_hex("00 05 01 84 00 00 00 00 00 00 00 00 01 00 00 00")).ok())
      << "retry 4 with a wait";
  EXPECT_FALSE(decode_status<Result<int>>(from_hex("00 05 01 82 00 00 00 00 00 00 00 00 01 00 00")).ok())
      << "a wait that is cut";
  EXPECT_TRUE(
      decode_status<Result<int>>(from_hex("00 05 01 40 00 00 00 00 00 00 00 00 01 00 00 00 64")).ok());
  EXPECT_FALSE(
      decode_status<Result<int>>(from_hex("00 05 01 40 00 00 00 00 00 00 00 00 02 00 00 00 64")).ok())
      << "details that are cut";
  EXPECT_FALSE(decode_status<Result<int>>(
                   from_hex("00 05 01 40 00 00 00 00 00 00 00 00 01 20 00 00 " + std::string(2 * 8193, '6')))
                   .ok())
      << "details over the limit";
  EXPECT_TRUE(decode_status<Result<int>>(from_hex("00 05 01 82 00 00 00 00 00 00 00 00 ff ff ff ff")).ok())
      << "a wait that is too long is the longest";
  EXPECT_FALSE(decode_status<std::uint8_t>(from_hex("01 61")).ok()) << "rubbish behind the values";
  EXPECT_FALSE(decode_status<>(from_hex("61 61 61 61 61")).ok());
}

TEST(CodecHostile, NestingOfAHundredThousandIsRefusedOnABoundedStack) {
  constexpr std::size_t kDeep = 100'000;
  EXPECT_EQ(
      decode_status<Chain>(repeated(kDeep, "01")).message().find("nested too deeply") != std::string::npos,
      true);
  EXPECT_FALSE(decode_status<Tree>(repeated(kDeep, "01 00 00 00")).ok());
}

TEST(CodecHostile, NestingUpToTheLimitIsReadAndDeeperValuesAreNotSent) {
  const auto nested = [](unsigned depth) {
    Chain chain;
    for (unsigned i = 0; i < depth; ++i) {
      auto below = std::make_unique<Chain>(std::move(chain));
      chain.next = std::move(below);
    }
    return chain;
  };
  Lists lists;
  for (unsigned i = 1; i < CodecLimits::kDepthMax; ++i) {
    Lists above;
    above.below.push_back(std::move(lists));
    lists = std::move(above);
  }
  EXPECT_TRUE(decode_status<Lists>(encoded(lists)).ok());
  const Chain deepest = nested(CodecLimits::kDepthMax);
  EXPECT_TRUE(decode_status<Chain>(encoded(deepest)).ok());
  EXPECT_EQ(encoded_size(nested(CodecLimits::kDepthMax + 1)), detail::kUnencodable);
  EXPECT_FALSE(decode_status<Chain>(repeated(CodecLimits::kDepthMax + 1, "01")).ok());
}

TEST(CodecHostile, ContainersOfEmptyElementsAreHeldToASmallNumber) {
  EXPECT_TRUE(decode_status<std::vector<Empty>>(from_hex("00 04 00 00")).ok());
  EXPECT_FALSE(decode_status<std::vector<Empty>>(from_hex("01 04 00 00")).ok());
  EXPECT_FALSE(decode_status<std::list<std::tuple<>>>(from_hex("ff ff ff ff")).ok());
  EXPECT_FALSE((decode_status<std::vector<std::array<double, 0>>>(from_hex("ff ff ff ff")).ok()));
  auto many = from_hex("00 00 01 00");
  const auto inner = repeated(65'536, "ff 03 00 00");
  many.insert(many.end(), inner.begin(), inner.end());
  bool good = true;
  EXPECT_LE(decode_peak<std::vector<std::vector<Empty>>>(many, &good), 2 * many.size() + kStatusBytes);
  EXPECT_FALSE(good) << "the number is of the whole message";
}

TEST(CodecHostile, PlainDataTakesNoMoreMemoryThanItHasBytes) {
  const std::string text(100'000, 'x');
  EXPECT_LE(decode_peak<std::string>(encoded(text)), text.size() + 32);
  const std::vector<double> numbers(10'000, 1.0);
  EXPECT_LE(decode_peak<std::vector<double>>(encoded(numbers)), numbers.size() * 8);
  const std::vector<std::pair<int, int>> pairs(10'000);
  EXPECT_LE((decode_peak<std::vector<std::pair<int, int>>>(encoded(pairs))), pairs.size() * 8);
}

TEST(CodecHostile, ALyingCountGetsAtMostTwiceTheBytesThatAreThere) {
  // As many elements as could just fit, of which the first is already broken.
  constexpr std::size_t kBytes = 1 << 20;
  const auto lie = [](std::uint32_t count) {
    std::vector<std::byte> message(kBytes, std::byte{0xFF});
    detail::store_le(message.data(), count);
    return message;
  };
  const auto texts = lie((kBytes - 4) / 4);
  EXPECT_LE(decode_peak<std::vector<std::string>>(texts), 2 * kBytes);
  EXPECT_LE(decode_peak<std::vector<std::vector<double>>>(texts), 2 * kBytes);
  EXPECT_LE(decode_peak<std::list<std::string>>(texts), 2 * kBytes);
  EXPECT_LE((decode_peak<std::unordered_map<bool, std::string>>(lie((kBytes - 4) / 5))), 2 * kBytes);
  EXPECT_LE((decode_peak<std::vector<std::optional<std::array<double, 999>>>>(lie(kBytes - 4))), 2 * kBytes);
}

TEST(CodecHostile, ValuesMuchLargerInMemoryThanOnTheWireAreBounded) {
  // 1 MiB of empty optionals would be 8 GiB of memory.
  std::vector<std::byte> message(1 << 20);
  detail::store_le(message.data(), std::uint32_t{(1 << 20) - 4});
  bool good = true;
  EXPECT_LE((decode_peak<std::vector<std::optional<std::array<double, 999>>>>(message, &good)),
            2 * message.size());
  EXPECT_FALSE(good);
  std::vector<std::byte> boxes(1 << 16, std::byte{1});
  detail::store_le(boxes.data(), std::uint32_t{(1 << 16) - 4});
  const std::size_t bound =
      CodecLimits::kMemoryFloorBytes + CodecLimits::kMemoryPerMessageByte * boxes.size();
  EXPECT_LE((decode_peak<std::vector<std::unique_ptr<Empty>>>(boxes, &good)), bound);
  EXPECT_LE((decode_peak<std::list<std::uint8_t>>(boxes, &good)), bound);
}

TEST(CodecHostile, TheArenaTakesNoMoreThanAboutTheMessage) {
  std::vector<std::vector<double>> rows(100, std::vector<double>(10, 1.0));
  const auto message = encoded(rows);
  std::vector<std::byte> shifted(message.size() + 1);
  std::copy(message.begin(), message.end(), shifted.begin() + 1);
  DecodeArena arena;
  std::vector<std::span<const double>> out;
  out.reserve(rows.size());
  heap = {.on = true, .now = 0, .peak = 0, .calls = 0};
  const bool good = decode_from(Bytes{shifted}.subspan(1), arena, out).ok();
  heap.on = false;
  EXPECT_TRUE(good);
  EXPECT_LE(heap.peak, message.size() + 64);
#if !WEFT_THREAD_SANITIZER
  EXPECT_EQ(heap.calls, 1U);
#endif
}

TEST(CodecHostile, ViewsAndNumbersAllocateNothingInBothDirections) {
  std::byte memory alignas(8)[64];
  heap = {.on = true, .now = 0, .peak = 0, .calls = 0};
  const std::string_view text = "hello";
  const std::array<std::int32_t, 2> numbers{1, 2};
  const std::span<const std::int32_t> span{numbers};
  const std::size_t size = encoded_size(text, 7, span);
  encode_to(memory, size, text, 7, span);
  DecodeArena arena;
  std::string_view text_out;
  int number_out = 0;
  std::span<const std::int32_t> span_out;
  const bool good = decode_from(Bytes{memory, size}, arena, text_out, number_out, span_out).ok();
  heap.on = false;
  EXPECT_TRUE(good);
  EXPECT_EQ(span_out[1], 2);
  EXPECT_EQ(heap.calls, 0U);
}

TEST(CodecHostile, KeysThatMeetInOneBucketAreRefused) {
  constexpr std::uint64_t kCount = 20'000;
  std::unordered_set<std::uint64_t> table;
  // The reader reserves for as many elements as the bytes that are left could pay for.
  table.reserve(kCount * 8 / (8 + CodecLimits::kNodeOverheadBytes));
  const std::uint64_t buckets = table.bucket_count();
  std::vector<std::uint64_t> keys;
  for (std::uint64_t i = 0; i < kCount; ++i) keys.push_back(i * buckets);
  const auto message = encoded(keys);
  const Status status = decode_status<std::unordered_set<std::uint64_t>>(message);
  EXPECT_NE(status.message().find("share a bucket"), std::string::npos) << status.to_string();
  EXPECT_TRUE(decode_status<std::set<std::uint64_t>>(message).ok());
  for (std::uint64_t i = 0; i < kCount; ++i) keys[i] = i * 64;
  EXPECT_TRUE(decode_status<std::unordered_set<std::uint64_t>>(encoded(keys)).ok());
}

TEST(CodecHostile, RandomChangesOfAMessageNeverBreakTheReader) {
  std::mt19937 random{20240607};
  const auto message = encoded(some_mixed());
  unsigned refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    auto changed = message;
    for (unsigned changes = 1 + random() % 3; changes > 0; --changes) {
      changed[random() % changed.size()] = static_cast<std::byte>(random() % 256);
    }
    refused += decode_status<Mixed>(changed).ok() ? 0 : 1;
  }
  EXPECT_GT(refused, 5'000U);
}

}  // namespace
}  // namespace weft
