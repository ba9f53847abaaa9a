// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "integration/faults/hostile_peer.hpp"
#include "weft/detail/wire/heads.hpp"

/// Builds the bytes of a peer that makes the frames of its streams by hand.
namespace weft::faults {

/// Returns an item of `text`; `of_answer` says that the sender answers the stream's request.
inline std::string item_bytes(std::uint64_t id, const std::string& text, bool of_answer = false) {
  return frame_bytes(wire::ItemHead{.id = id, .of_answer = of_answer}.header(), body_of(text));
}
inline std::string last_bytes(std::uint64_t id, bool of_answer = false) {
  return frame_bytes(wire::ItemHead{.id = id, .of_answer = of_answer, .last = true}.header());
}
inline std::string credit_bytes(std::uint64_t id, std::uint64_t granted, bool of_answer = false) {
  return frame_bytes(wire::CreditHead{.id = id, .granted = granted, .of_answer = of_answer}.header());
}
inline std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}
/// Returns the hello of a peer that takes `window` bytes of each stream before it grants more.
inline std::string hello_with_window(std::uint32_t window) {
  wire::Hello hello;
  hello.features_supported = wire::Features::kAll;
  hello.body_bytes_max = 16u << 20;
  hello.attachment_bytes_max = 1u << 30;
  hello.calls_in_flight_max = 1u << 20;
  hello.stream_window_bytes = window;
  return wire::encode_hello(hello);
}

}  // namespace weft::faults
