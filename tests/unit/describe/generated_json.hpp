// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "unit/codec/generated_types.hpp"
#include "unit/describe/describe_testing.hpp"

/// The test of one type that generate_types.py writes: its values through JSON.
namespace weft::testing::generated {

/// Sends random values of `T` to JSON and back, described with names of fields and without.
template <typename T>
void expect_json_travels(const char* schema) {
  for (const std::string& text : {std::string{schema}, named_schema_text<T>()}) {
    const TypeDescription types = parsed(text);
    for (const bool any : {false, true}) {
      Random random{any};
      for (int round = 0; round < 20; ++round) {
        T value = T();
        Fill{random}.all(value);
        const auto message = encoded(value);
        std::string written;
        const Status status = to_json(types, message, written);
        ASSERT_TRUE(status.ok()) << text << ": " << status.to_string();
        ASSERT_TRUE(nlohmann::json::accept(written)) << written;
        std::vector<std::byte> back;
        const Status read = from_json(types, written, back);
        ASSERT_TRUE(read.ok()) << text << ": " << read.to_string() << "\n" << written;
        ASSERT_EQ(hex(back), hex(message)) << text << "\n" << written;
      }
    }
  }
}

}  // namespace weft::testing::generated
