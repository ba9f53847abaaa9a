// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/wire/frame.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "weft/detail/wire/carrier.hpp"
#include "weft/detail/wire/crc32c.hpp"
#include "weft/detail/wire/heads.hpp"

namespace weft::detail::wire {
namespace {

constexpr FrameLimits kLimits{.body_bytes_max = 1000, .attachment_bytes_max = 5000};

FrameHeader of_type(FrameType type) {
  FrameHeader header;
  header.type = type;
  return header;
}

FrameHeader with_attachment(std::uint64_t bytes) {
  FrameHeader header = of_type(FrameType::kRequest);
  header.flags = FrameFlags::kAttachment;
  header.attachment_bytes = bytes;
  return header;
}

TEST(Crc32c, GivesThePublishedValues) {
  EXPECT_EQ(crc32c({}), 0u);
  EXPECT_EQ(crc32c(as_bytes("a")), 0xC1D04330u);
  EXPECT_EQ(crc32c(as_bytes("123456789")), 0xE3069283u);
  const std::vector<std::byte> zeros(32);
  const std::vector<std::byte> ones(32, std::byte{0xFF});
  std::vector<std::byte> rising(32);
  for (std::size_t at = 0; at < 32; ++at) rising[at] = static_cast<std::byte>(at);
  EXPECT_EQ(crc32c(zeros), 0x8A9136AAu);
  EXPECT_EQ(crc32c(ones), 0x62A8AB43u);
  EXPECT_EQ(crc32c(rising), 0x46DD794Eu);
}

TEST(Crc32c, TablesAndInstructionAgreeAtEveryLengthAndOffset) {
  std::vector<std::byte> bytes(200);
  for (std::size_t at = 0; at < bytes.size(); ++at) bytes[at] = static_cast<std::byte>(at * 37 + 11);
  for (std::size_t offset = 0; offset < 9; ++offset) {
    for (std::size_t size = 0; size < 150; ++size) {
      const Bytes part = Bytes{bytes}.subspan(offset, size);
      ASSERT_EQ(crc32c(part), crc32c_by_tables(part)) << offset << " " << size;
    }
  }
  EXPECT_EQ(crc32c_by_tables(as_bytes("123456789")), 0xE3069283u);
}

TEST(Crc32c, GoesOnWhereAnEarlierPieceEnded) {
  const Bytes whole = as_bytes("123456789");
  for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
    EXPECT_EQ(crc32c(whole.subspan(cut), crc32c(whole.first(cut))), 0xE3069283u);
    EXPECT_EQ(crc32c_by_tables(whole.subspan(cut), crc32c_by_tables(whole.first(cut))), 0xE3069283u);
  }
}

TEST(FrameHeader, LiesOnTheWireAsThePictureSays) {
  FrameHeader header;
  header.body_bytes = 0x04030201;
  header.type = FrameType::kAnswer;
  header.flags = 0x06;
  header.typed16 = 0x0807;
  header.id = 0x100F0E0D0C0B0A09;
  header.typed64 = 0x1817161514131211;
  header.timeout = 0x1C1B1A19;
  header.schema = 0x201F1E1D;
  header.attachment_bytes = 0x2827262524232221;
  std::byte wire[kHeaderBytes];
  store_header(wire, header);
  for (std::size_t at = 0; at < kHeaderBytes; ++at) {
    const std::size_t expected = at == 4 ? 2 : at + 1;
    EXPECT_EQ(std::to_integer<std::size_t>(wire[at]), expected) << at;
  }
  EXPECT_EQ(load_header(wire).attachment_bytes, header.attachment_bytes);
}

// The bytes of a header, in hexadecimal digits.
std::string hex_of(const FrameHeader& header) {
  std::byte wire[kHeaderBytes];
  store_header(wire, header);
  std::string text;
  for (const std::byte byte : wire) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    text += kDigits[std::to_integer<std::size_t>(byte) >> 4];
    text += kDigits[std::to_integer<std::size_t>(byte) & 15];
  }
  return text;
}

TEST(Heads, ARequestLiesOnTheWireAsThePageSays) {
  const RequestHead head{.body_bytes = 0x21,
                         .flags = FrameFlags::kAttachment | FrameFlags::kTimeoutInSeconds,
                         .metadata_bytes = 0x0b0a,
                         .id = make_id(7, 3),
                         .method = 0x1122334455667788,
                         .timeout = 30,
                         .schema = 0xdeadbeef,
                         .attachment_bytes = 5};
  EXPECT_EQ(hex_of(head.header()),
            "21000000"
            "01"
            "03"
            "0a0b"
            "0700000003000000"
            "8877665544332211"
            "1e000000"
            "efbeadde"
            "0500000000000000");
  const FrameHeader header = head.header();
  const RequestView view{header};
  EXPECT_EQ(view.id(), head.id);
  EXPECT_EQ(view.method(), head.method);
  EXPECT_EQ(view.schema(), head.schema);
  EXPECT_EQ(view.timeout(), 30u);
  EXPECT_TRUE(view.timeout_is_in_seconds());
  EXPECT_EQ(view.metadata_bytes(), 0x0b0a);
  EXPECT_EQ(view.attachment_bytes(), 5u);
}

TEST(Heads, TheArgumentsAreWhatIsBehindTheMetadataAndItsPadding) {
  const FrameHeader header = RequestHead{.body_bytes = 40, .metadata_bytes = 17}.header();
  EXPECT_EQ(RequestView{header}.padded_metadata_bytes(), 24u);
  EXPECT_EQ(RequestView{header}.arguments_bytes(), 16u);
}

TEST(Heads, AnAnswerLiesOnTheWireAsThePageSays) {
  EXPECT_EQ(hex_of(AnswerHead{.body_bytes = 8, .id = 9}.header()),
            "08000000"
            "02"
            "00"
            "0000"
            "0900000000000000"
            "0000000000000000"
            "0000000000000000"
            "0000000000000000");
  const AnswerHead failure{.code = StatusCode::kResourceExhausted,
                           .layer = Layer::kRpc,
                           .retry = Retry::kBackoff,
                           .native = -2,
                           .id = 9};
  EXPECT_EQ(hex_of(failure.header()),
            "00000000"
            "02"
            "00"
            "0826"
            "0900000000000000"
            "feffffff00000000"
            "0000000000000000"
            "0000000000000000");
  const FrameHeader header = failure.header();
  const AnswerView view{header};
  EXPECT_FALSE(view.succeeded());
  EXPECT_EQ(view.code(), 8u);
  EXPECT_EQ(view.layer(), 6u);
  EXPECT_EQ(view.retry(), 2u);
  EXPECT_EQ(view.native(), -2);
  const FrameHeader success = AnswerHead{}.header();
  EXPECT_TRUE(AnswerView{success}.succeeded());
}

TEST(Heads, ARateLiesOnTheWireAsThePageSaysAndIsDroppedByWhoDoesNotKnowIt) {
  const FrameHeader header = RateHead{.id = 9, .bytes_per_second = 0x1234}.header();
  EXPECT_EQ(hex_of(header),
            "00000000"
            "81"
            "00"
            "0000"
            "0900000000000000"
            "3412000000000000"
            "0000000000000000"
            "0000000000000000");
  EXPECT_EQ(RateView{header}.id(), 9u);
  EXPECT_EQ(RateView{header}.bytes_per_second(), 0x1234u);
  EXPECT_TRUE(is_skippable(header.type));
}

TEST(Heads, AGoawayLiesOnTheWireAsThePageSays) {
  EXPECT_EQ(hex_of(GoawayHead{}.header()),
            "00000000"
            "06"
            "00"
            "0000"
            "0000000000000000"
            "0000000000000000"
            "0000000000000000"
            "0000000000000000");
  const FrameHeader last = GoawayHead{.body_bytes = 3, .taken_up_to = 0x1234}.header();
  EXPECT_EQ(hex_of(last),
            "03000000"
            "06"
            "00"
            "0000"
            "0000000000000000"
            "3412000000000000"
            "0000000000000000"
            "0000000000000000");
  EXPECT_EQ(GoawayView{last}.taken_up_to(), 0x1234u);
}

TEST(FrameHeader, IdsKeepSlotAndGeneration) {
  const std::uint64_t id = make_id(0xFFFFFFFE, 7);
  EXPECT_EQ(slot_of(id), 0xFFFFFFFEu);
  EXPECT_EQ(generation_of(id), 7u);
}

TEST(CheckHeader, AcceptsEveryKindOfFrameThatIsInOrder) {
  for (const FrameType type : {FrameType::kRequest, FrameType::kAnswer, FrameType::kCancel, FrameType::kPing,
                               FrameType::kPong, FrameType::kGoaway}) {
    EXPECT_EQ(check_header(of_type(type), kLimits), FrameFault::kNone) << to_string(type);
  }
  FrameHeader request = with_attachment(5000);
  request.flags = FrameFlags::kAll;
  request.body_bytes = 1000;
  request.timeout = request.schema = 1;
  request.id = request.typed64 = ~std::uint64_t{0};
  EXPECT_EQ(check_header(request, kLimits), FrameFault::kNone);
  FrameHeader answer = of_type(FrameType::kAnswer);
  answer.typed16 = static_cast<std::uint16_t>(16 | (static_cast<unsigned>(Layer::kRpc) << 8));
  answer.typed64 = ~std::uint64_t{0};
  EXPECT_EQ(check_header(answer, kLimits), FrameFault::kNone);
}

TEST(CheckHeader, RefusesEveryTypeThatHasNoNameAndMayNotBeSkipped) {
  for (unsigned type = 0; type < 256; ++type) {
    const bool accepted = (type >= 1 && type <= 11) || type >= 0x80;
    const FrameFault fault = check_header(of_type(static_cast<FrameType>(type)), kLimits);
    EXPECT_EQ(fault != FrameFault::kUnknownType, accepted) << type;
  }
}

TEST(CheckHeader, TakesAContinueThatSaysItsIdAndNothingElse) {
  FrameHeader header = of_type(FrameType::kContinue);
  header.id = 7;
  EXPECT_EQ(check_header(header, kLimits), FrameFault::kNone);
  header.typed64 = 1;
  EXPECT_EQ(check_header(header, kLimits), FrameFault::kUnexpectedField);
  header.typed64 = 0;
  header.body_bytes = 8;
  EXPECT_EQ(check_header(header, kLimits), FrameFault::kUnexpectedField);
}

TEST(CheckHeader, RefusesFlagsThatTheTypeDoesNotKnow) {
  FrameHeader request = of_type(FrameType::kRequest);
  request.flags = 0x08;
  EXPECT_EQ(check_header(request, kLimits), FrameFault::kUnknownFlags);
  FrameHeader answer = of_type(FrameType::kAnswer);
  answer.flags = FrameFlags::kLandingNamed;
  EXPECT_EQ(check_header(answer, kLimits), FrameFault::kUnknownFlags);
  FrameHeader cancel = of_type(FrameType::kCancel);
  cancel.flags = FrameFlags::kAttachment;
  cancel.attachment_bytes = 1;
  EXPECT_EQ(check_header(cancel, kLimits), FrameFault::kUnknownFlags);
}

TEST(CheckHeader, IgnoresFlagsThatAreOptionalOnEveryType) {
  for (unsigned type = 1; type <= 7; ++type) {
    for (const unsigned flag : {0x10u, 0x20u, 0x40u, 0x80u}) {
      FrameHeader header = of_type(static_cast<FrameType>(type));
      header.flags = static_cast<std::uint8_t>(flag);
      EXPECT_EQ(check_header(header, kLimits), FrameFault::kNone) << type << " " << flag;
      header.flags |= 0x08;
      EXPECT_EQ(check_header(header, kLimits), FrameFault::kUnknownFlags) << type << " " << flag;
    }
  }
}

TEST(CheckHeader, HoldsAFrameThatMayBeSkippedToTheLimitsAndToNothingElse) {
  FrameHeader header = of_type(static_cast<FrameType>(0xA5));
  header.flags = FrameFlags::kAttachment | FrameFlags::kOptional;
  header.typed16 = 0xFFFF;
  header.id = header.typed64 = ~std::uint64_t{0};
  header.timeout = header.schema = ~std::uint32_t{0};
  header.body_bytes = kLimits.body_bytes_max;
  header.attachment_bytes = kLimits.attachment_bytes_max;
  EXPECT_EQ(check_header(header, kLimits), FrameFault::kNone);
  FrameHeader long_body = header;
  ++long_body.body_bytes;
  EXPECT_EQ(check_header(long_body, kLimits), FrameFault::kBodyTooLarge);
  FrameHeader long_attachment = header;
  ++long_attachment.attachment_bytes;
  EXPECT_EQ(check_header(long_attachment, kLimits), FrameFault::kAttachmentTooLarge);
  FrameHeader no_flag = header;
  no_flag.flags = 0;
  EXPECT_EQ(check_header(no_flag, kLimits), FrameFault::kUnexpectedField);
  FrameHeader required_flag = header;
  required_flag.flags |= FrameFlags::kTimeoutInSeconds;
  EXPECT_EQ(check_header(required_flag, kLimits), FrameFault::kUnknownFlags);
}

TEST(CheckHeader, TakesAnswersWithCodesLayersAndAdviceOfALaterBuild) {
  FrameHeader answer = of_type(FrameType::kAnswer);
  for (const unsigned status : {0x0011u, 0x00FFu, 0x0F02u, 0xF002u, 0xFFFFu}) {
    answer.typed16 = static_cast<std::uint16_t>(status);
    EXPECT_EQ(check_header(answer, kLimits), FrameFault::kNone) << status;
  }
}

TEST(CheckHeader, HoldsLengthsAgainstTheLimitsExactly) {
  FrameHeader body = of_type(FrameType::kRequest);
  for (const std::uint32_t bytes : {0u, 999u, 1000u}) {
    body.body_bytes = bytes;
    EXPECT_EQ(check_header(body, kLimits), FrameFault::kNone);
  }
  for (const std::uint32_t bytes : {1001u, 0x7FFFFFFFu, 0xFFFFFFF9u, 0xFFFFFFFFu}) {
    body.body_bytes = bytes;
    EXPECT_EQ(check_header(body, kLimits), FrameFault::kBodyTooLarge);
  }
  FrameHeader carrier = of_type(FrameType::kCarrier);
  carrier.body_bytes = kCarrierBodyMax;
  EXPECT_EQ(check_header(carrier, kLimits), FrameFault::kNone) << "it is no call, and has a limit of its own";
  carrier.body_bytes = kCarrierBodyMax + 1;
  EXPECT_EQ(check_header(carrier, kLimits), FrameFault::kBodyTooLarge);
  EXPECT_EQ(check_header(with_attachment(5000), kLimits), FrameFault::kNone);
  EXPECT_EQ(check_header(with_attachment(5001), kLimits), FrameFault::kAttachmentTooLarge);
  EXPECT_EQ(check_header(with_attachment(~std::uint64_t{0}), kLimits), FrameFault::kAttachmentTooLarge);
}

TEST(CheckHeader, RefusesAnAttachmentFlagWithoutLengthAndALengthWithoutFlag) {
  EXPECT_EQ(check_header(with_attachment(0), kLimits), FrameFault::kUnexpectedField);
  FrameHeader header = with_attachment(8);
  header.flags = 0;
  EXPECT_EQ(check_header(header, kLimits), FrameFault::kUnexpectedField);
}

/// Returns the fault of a frame with a large body, which is the same with an attachment: its check takes a
/// shorter way.
FrameFault fault_also_attached(FrameHeader header) {
  const FrameFault found = check_header(header, {.body_bytes_max = 1u << 20});
  header.flags |= FrameFlags::kAttachment;
  header.attachment_bytes = 8;
  EXPECT_EQ(check_header(header, {.body_bytes_max = 1u << 20, .attachment_bytes_max = 8}), found);
  return found;
}

TEST(CheckHeader, RefusesMetadataThatIsLongerThanItsBodyOrThanAnyMayBe) {
  const auto fault = [&](std::size_t metadata, std::uint32_t body) {
    FrameHeader header = of_type(FrameType::kRequest);
    header.typed16 = static_cast<std::uint16_t>(metadata);
    header.body_bytes = body;
    return fault_also_attached(header);
  };
  EXPECT_EQ(fault(16, 16), FrameFault::kNone);
  EXPECT_EQ(fault(9, 16), FrameFault::kNone);
  EXPECT_EQ(fault(9, 15), FrameFault::kMetadataTooLarge) << "its padding does not fit";
  EXPECT_EQ(fault(1, 0), FrameFault::kMetadataTooLarge);
  EXPECT_EQ(fault(kMetadataBytesMax, 8192), FrameFault::kNone);
  EXPECT_EQ(fault(kMetadataBytesMax + 1, 1u << 20), FrameFault::kMetadataTooLarge);
  EXPECT_EQ(fault(0xFFFF, 1u << 20), FrameFault::kMetadataTooLarge);
}

TEST(CheckHeader, RefusesDetailsThatAreLongerThanTheirBodyOrOfASuccess) {
  const auto fault = [&](std::size_t details, std::uint32_t body, StatusCode code = StatusCode::kNotFound) {
    AnswerHead head;
    head.body_bytes = body;
    head.code = code;
    head.details_bytes = static_cast<std::uint32_t>(details);
    head.id = 1;
    return fault_also_attached(head.header());
  };
  EXPECT_EQ(fault(16, 16), FrameFault::kNone);
  EXPECT_EQ(fault(9, 16), FrameFault::kNone);
  EXPECT_EQ(fault(9, 15), FrameFault::kMetadataTooLarge) << "its padding does not fit";
  EXPECT_EQ(fault(1, 0), FrameFault::kMetadataTooLarge);
  EXPECT_EQ(fault(kStatusDetailsMax, 8192), FrameFault::kNone);
  EXPECT_EQ(fault(kStatusDetailsMax + 1, 1u << 20), FrameFault::kMetadataTooLarge);
  EXPECT_EQ(fault(0xFFFFFFFF, 1u << 20), FrameFault::kMetadataTooLarge);
  EXPECT_EQ(fault(8, 8, StatusCode::kOk), FrameFault::kUnexpectedField);
}

TEST(CheckHeader, RefusesFieldsThatTheTypeDoesNotUse) {
  const auto fault_after = [](FrameType type, auto change) {
    FrameHeader header = of_type(type);
    change(header);
    const FrameFault found = check_header(header, kLimits);
    if (type == FrameType::kRequest || type == FrameType::kAnswer) {
      header.flags |= FrameFlags::kAttachment;
      header.attachment_bytes = 8;
      EXPECT_EQ(check_header(header, kLimits), found)
          << "with an attachment, for which there is a shorter way";
    }
    return found;
  };
  const auto status = [](std::uint16_t value) {
    return [value](FrameHeader& header) { header.typed16 = value; };
  };
  EXPECT_EQ(fault_after(FrameType::kCancel, status(1)), FrameFault::kUnexpectedField);
  EXPECT_EQ(fault_after(FrameType::kAnswer, status(0x0100)), FrameFault::kUnexpectedField);
  const auto timeout = [](FrameHeader& header) { header.timeout = 1; };
  const auto schema = [](FrameHeader& header) { header.schema = 1; };
  const auto method = [](FrameHeader& header) { header.typed64 = 1; };
  const auto body = [](FrameHeader& header) { header.body_bytes = 1; };
  EXPECT_EQ(fault_after(FrameType::kAnswer, timeout), FrameFault::kUnexpectedField);
  EXPECT_EQ(fault_after(FrameType::kAnswer, schema), FrameFault::kUnexpectedField);
  for (const FrameType type : {FrameType::kCancel, FrameType::kPing, FrameType::kPong}) {
    EXPECT_EQ(fault_after(type, method), FrameFault::kUnexpectedField);
    EXPECT_EQ(fault_after(type, body), FrameFault::kUnexpectedField);
    EXPECT_EQ(fault_after(type, timeout), FrameFault::kUnexpectedField);
  }
  EXPECT_EQ(fault_after(FrameType::kGoaway, body), FrameFault::kNone);
  EXPECT_EQ(fault_after(FrameType::kGoaway, method), FrameFault::kNone) << "where it stopped taking requests";
  EXPECT_EQ(fault_after(FrameType::kGoaway, timeout), FrameFault::kUnexpectedField);
  EXPECT_EQ(fault_after(FrameType::kGoaway, [](FrameHeader& header) { header.id = 1; }),
            FrameFault::kUnexpectedField);
}

TEST(FaultStatus, SaysWhatWasWrongAndThatReconnectingMayHelp) {
  FrameHeader header = of_type(FrameType::kRequest);
  header.body_bytes = 2000;
  const Status status = fault_status(FrameFault::kBodyTooLarge, header, kLimits);
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(status.layer(), Layer::kWire);
  EXPECT_EQ(status.retry(), Retry::kReconnect);
  EXPECT_NE(status.message().find("2000 bytes of at most 1000"), std::string_view::npos) << status.message();
  for (unsigned fault = 1; fault < static_cast<unsigned>(FrameFault::kCount); ++fault) {
    EXPECT_FALSE(fault_status(static_cast<FrameFault>(fault), header, kLimits).ok());
  }
}

TEST(FinishFrame, PadsWithZerosAndChecksumsHeaderAndBody) {
  for (std::uint32_t body = 0; body < 20; ++body) {
    std::vector<std::byte> frame(head_bytes(body, true), std::byte{0xAA});
    store_header(frame.data(), {.body_bytes = body, .type = FrameType::kRequest});
    finish_frame(frame.data(), body, true);
    EXPECT_EQ(frame.size() % 8, 0u);
    EXPECT_TRUE(padding_is_zero(frame.data(), kHeaderBytes + body));
    EXPECT_TRUE(checksum_matches(frame.data(), body));
  }
}

TEST(FinishFrame, EveryFlippedBitIsFoundByChecksumOrPadding) {
  constexpr std::uint32_t kBody = 13;
  std::vector<std::byte> frame(head_bytes(kBody, true), std::byte{0x5C});
  store_header(frame.data(), {.body_bytes = kBody, .type = FrameType::kRequest});
  finish_frame(frame.data(), kBody, true);
  for (std::size_t bit = 0; bit < frame.size() * 8; ++bit) {
    const std::byte mask{static_cast<unsigned char>(1u << (bit % 8))};
    frame[bit / 8] ^= mask;
    EXPECT_FALSE(checksum_matches(frame.data(), kBody) && padding_is_zero(frame.data(), kHeaderBytes + kBody))
        << bit;
    frame[bit / 8] ^= mask;
  }
}

}  // namespace
}  // namespace weft::detail::wire
