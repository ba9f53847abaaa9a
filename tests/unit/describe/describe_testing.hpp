// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "unit/codec/codec_testing.hpp"
#include "weft/detail/codec/named_schema.hpp"
#include "weft/detail/describe/json.hpp"

namespace weft::testing {

inline TypeDescription parsed(std::string_view text) {
  auto types = TypeDescription::parse(text);
  EXPECT_TRUE(types.ok()) << text << ": " << types.status().to_string();
  return types.ok() ? *std::move(types) : TypeDescription{};
}
/// The values of `Ts`, with names of fields.
template <typename... Ts>
TypeDescription described() {
  return parsed(named_schema_text<Ts...>());
}

/// The JSON of a message, or the message of the failure.
inline std::string json_of(const TypeDescription& types, Bytes message) {
  std::string text;
  const Status written = to_json(types, message, text);
  return written.ok() ? text : std::string{written.message()};
}
template <typename... Ts>
std::string json(const Ts&... values) {
  return json_of(described<Ts...>(), encoded(values...));
}

/// The message of a JSON text in hexadecimal, or the message of the failure.
inline std::string message_of(const TypeDescription& types, std::string_view text) {
  std::vector<std::byte> message;
  const Status read = from_json(types, text, message);
  return read.ok() ? hex(message) : std::string{read.message()};
}

/// `values` have the JSON `text`, which has the message of `values`.
template <typename... Ts>
void expect_json(std::string_view text, const Ts&... values) {
  const TypeDescription types = described<Ts...>();
  EXPECT_EQ(json_of(types, encoded(values...)), text);
  EXPECT_EQ(message_of(types, text), encoded_hex(values...)) << text;
}
/// `text`, which to_json() does not write, has the message of `values`.
template <typename... Ts>
void expect_read(std::string_view text, const Ts&... values) {
  EXPECT_EQ(message_of(described<Ts...>(), text), encoded_hex(values...)) << text;
}
/// Reading `text` as values of `Ts` fails with `message`.
template <typename... Ts>
void expect_refused(std::string_view text, std::string_view message) {
  std::vector<std::byte> bytes;
  const Status read = from_json(described<Ts...>(), text, bytes);
  EXPECT_EQ(read.code(), StatusCode::kInvalidArgument) << text;
  EXPECT_EQ(read.message(), message) << text;
}

}  // namespace weft::testing
