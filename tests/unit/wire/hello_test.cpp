// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/wire/hello.hpp"

#include <gtest/gtest.h>

#include <string>

#include "weft/detail/wire/crc32c.hpp"

namespace weft::detail::wire {
namespace {

Hello rich_hello() {
  Hello hello;
  hello.features_supported = Features::kChecksum | std::uint64_t{1} << 40;
  hello.features_required = Features::kChecksum;
  hello.body_bytes_max = 4u << 20;
  hello.attachment_bytes_max = std::uint64_t{1} << 40;
  hello.calls_in_flight_max = 1024;
  hello.carriers = {{CarrierKind::kStream, ""}, {CarrierKind::kVerbs, "gid and queue pair"}};
  return hello;
}

// Puts a right checksum behind `text` after the test changed it.
std::string resealed(std::string text) {
  const std::uint64_t sum = crc32c(as_bytes(text).first(text.size() - 8));
  std::memcpy(text.data() + text.size() - 8, &sum, 8);
  return text;
}

TEST(Hello, ComesBackAsItWasSent) {
  for (const Hello& hello : {Hello{}, rich_hello()}) {
    const std::string text = encode_hello(hello);
    EXPECT_EQ(text.size() % 8, 0u);
    EXPECT_EQ(hello_length(as_bytes(text)).value(), text.size());
    EXPECT_EQ(decode_hello(as_bytes(text)).value(), hello);
  }
}

TEST(Hello, LengthIsUnknownUntilThePrefixIsThere) {
  const std::string text = encode_hello(rich_hello());
  for (std::size_t size = 0; size < kHelloPrefixBytes; ++size) {
    EXPECT_EQ(hello_length(as_bytes(text).first(size)).value(), 0u);
  }
  EXPECT_EQ(hello_length(as_bytes(text).first(kHelloPrefixBytes)).value(), text.size());
}

TEST(Hello, EveryTruncationIsRefused) {
  const std::string text = encode_hello(rich_hello());
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_EQ(decode_hello(as_bytes(text).first(size)).status().code(), StatusCode::kInvalidArgument) << size;
  }
}

TEST(Hello, EveryFlippedBitIsRefused) {
  std::string text = encode_hello(rich_hello());
  for (std::size_t bit = 0; bit < text.size() * 8; ++bit) {
    const auto mask = static_cast<char>(1u << (bit % 8));
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ mask);
    EXPECT_FALSE(decode_hello(as_bytes(text)).ok()) << bit;
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ mask);
  }
}

TEST(Hello, OtherProtocolsAreNamedFromTheirFirstBytes) {
  const auto message = [](std::string_view text) {
    return std::string{hello_length(as_bytes(text)).status().message()};
  };
  EXPECT_NE(message("GET / HTTP/1.1\r\n").find("HTTP/1"), std::string::npos);
  EXPECT_NE(message("PRI * HTTP/2.0\r\n").find("HTTP/2"), std::string::npos);
  EXPECT_NE(message("\x16\x03\x01").find("TLS"), std::string::npos);
  EXPECT_NE(message("PRPC").find("baidu_std"), std::string::npos);
  EXPECT_NE(message("zzzz").find("does not speak"), std::string::npos);
  EXPECT_NE(message("\xF7WFX").find("does not speak"), std::string::npos);
}

TEST(Hello, HostileLengthsAreRefusedFromThePrefixAlone) {
  std::string text = encode_hello(Hello{});
  for (const std::uint32_t length : {0u, 1u, 47u, 49u, 4081u, 4088u, 0x7FFFFFFFu, 0xFFFFFFF0u, 0xFFFFFFFFu}) {
    std::memcpy(text.data() + 8, &length, 4);
    EXPECT_EQ(hello_length(as_bytes(text)).status().code(), StatusCode::kInvalidArgument) << length;
  }
}

TEST(Hello, AnotherVersionIsRefusedWithBothNumbers) {
  Hello hello;
  hello.version = 7;
  const Status status = decode_hello(as_bytes(encode_hello(hello))).status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(status.message().find("version 7"), std::string_view::npos);
  EXPECT_NE(status.message().find("version 1"), std::string_view::npos);
}

TEST(Hello, ARequiredFeatureThatThisBuildLacksIsNamed) {
  Hello hello;
  hello.features_supported = hello.features_required = std::uint64_t{1} << 9;
  const Status status = decode_hello(as_bytes(encode_hello(hello))).status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(status.message().find("bit 9"), std::string_view::npos);
}

TEST(Hello, ListsOfCarriersThatLieAboutTheirLengthAreRefused) {
  std::string text = encode_hello(rich_hello());
  for (const std::uint16_t count : {3, 9, 0xFFFF}) {
    std::memcpy(text.data() + 48, &count, 2);
    EXPECT_FALSE(decode_hello(as_bytes(resealed(text))).ok()) << count;
  }
  text = encode_hello(rich_hello());
  text[60 + 3] = '\x7F';  // the second carrier's parameters get longer than the hello
  EXPECT_EQ(decode_hello(as_bytes(resealed(text))).status().code(), StatusCode::kInvalidArgument);
}

TEST(Hello, CarriersOfLaterBuildsAreSkippedAndAppendedFieldsIgnored) {
  Hello hello = rich_hello();
  hello.carriers.push_back({static_cast<CarrierKind>(77), "from the future"});
  std::string text = encode_hello(hello);
  EXPECT_EQ(decode_hello(as_bytes(text)).value().carriers, rich_hello().carriers);
  text.insert(text.size() - 8, 16, 'x');
  const auto payload = static_cast<std::uint32_t>(text.size() - kHelloPrefixBytes);
  std::memcpy(text.data() + 8, &payload, 4);
  EXPECT_EQ(decode_hello(as_bytes(resealed(text))).value().carriers, rich_hello().carriers);
}

TEST(Hello, ACarrierOfferedTwiceIsRefused) {
  Hello hello;
  hello.carriers = {{CarrierKind::kUcx, "a"}, {CarrierKind::kUcx, "b"}};
  EXPECT_FALSE(decode_hello(as_bytes(encode_hello(hello))).ok());
}

TEST(AgreeFeatures, TakesWhatBothSupport) {
  Hello ours;
  Hello theirs;
  EXPECT_EQ(agree_features(ours, theirs).value(), 0u);
  ours.features_supported = Features::kChecksum;
  EXPECT_EQ(agree_features(ours, theirs).value(), 0u);
  theirs.features_supported = Features::kChecksum | 4;
  EXPECT_EQ(agree_features(ours, theirs).value(), Features::kChecksum);
}

TEST(AgreeFeatures, NamesWhatOneSideRequiresAndTheOtherLacks) {
  Hello with;
  with.features_supported = with.features_required = Features::kChecksum;
  const Status we = agree_features(with, Hello{}).status();
  const Status they = agree_features(Hello{}, with).status();
  EXPECT_EQ(we.code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(we.message().find("we require checksum"), std::string_view::npos) << we.message();
  EXPECT_NE(they.message().find("the peer requires checksum"), std::string_view::npos) << they.message();
}

}  // namespace
}  // namespace weft::detail::wire
