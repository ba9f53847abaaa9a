// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/wire/carrier.hpp"

#include <gtest/gtest.h>

#include <string>

#include "weft/detail/wire/frame.hpp"

namespace weft::detail::wire {
namespace {

Bytes body_of(const std::string& frame) {
  const FrameHeader header = load_header(as_bytes(frame).data());
  return as_bytes(frame).subspan(kHeaderBytes, header.body_bytes);
}

std::string refusal(Bytes body) {
  const Result<CarrierMessage> message = decode_carrier_body(body);
  return message.ok() ? "accepted" : std::string{message.status().message()};
}

TEST(CarrierFrame, IsReadAsItWasWritten) {
  for (CarrierStep step :
       {CarrierStep::kAddress, CarrierStep::kUp, CarrierStep::kDown, CarrierStep::kReady}) {
    for (const std::string& text : {std::string{}, std::string{"x"}, std::string(kCarrierTextMax, '\xff')}) {
      const std::string frame = encode_carrier_frame({step, CarrierKind::kUcx, text});
      EXPECT_EQ(check_header(load_header(as_bytes(frame).data()), {}), FrameFault::kNone);
      EXPECT_EQ(frame.size() % 8, 0u);
      const CarrierMessage message = decode_carrier_body(body_of(frame)).value();
      EXPECT_EQ(message.step, step);
      EXPECT_EQ(message.kind, CarrierKind::kUcx);
      EXPECT_EQ(message.text, text);
    }
  }
}

TEST(CarrierFrame, IsRefusedWhenCutShort) {
  const std::string frame = encode_carrier_frame({CarrierStep::kUp, CarrierKind::kUcx, {}});
  for (std::size_t size = 0; size < 8; ++size) {
    EXPECT_NE(refusal(body_of(frame).first(size)).find("cut short"), std::string::npos);
  }
}

TEST(CarrierFrame, IsRefusedWhenTooLong) {
  std::string body(8 + kCarrierTextMax + 1, '\0');
  body[0] = 1;
  EXPECT_NE(refusal(as_bytes(body)).find("longer"), std::string::npos);
}

TEST(CarrierFrame, IsRefusedWithAnUnknownStep) {
  std::string body(8, '\0');
  for (int step = 0; step < 256; ++step) {
    body[0] = static_cast<char>(step);
    EXPECT_EQ(decode_carrier_body(as_bytes(body)).ok(), step >= 1 && step <= 4) << step;
  }
}

TEST(CarrierFrame, IsRefusedWithAnyReservedBit) {
  for (std::size_t bit = 16; bit < 64; ++bit) {
    std::string body(8, '\0');
    body[0] = 1;
    body[bit / 8] = static_cast<char>(1u << bit % 8);
    EXPECT_NE(refusal(as_bytes(body)).find("reserved"), std::string::npos) << bit;
  }
}

}  // namespace
}  // namespace weft::detail::wire
