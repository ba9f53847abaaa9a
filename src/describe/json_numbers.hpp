// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "weft/detail/base/bytes.hpp"

/// Numbers of the codec as text of JSON and back, exactly.
namespace weft::detail {

__extension__ using Int128 = __int128;
__extension__ using Uint128 = unsigned __int128;

/// Reads an integer of `width` bytes, at most 8, and extends its sign.
Int128 load_integer(const std::byte* from, std::size_t width, bool is_signed);

/// Appends the integer of `width` bytes, at most 16, in decimal.
void append_integer(std::string& out, const std::byte* from, std::size_t width, bool is_signed);

/// Sign and magnitude of an integer.
struct Decimal {
  bool negative = false;
  Uint128 magnitude = 0;
};
/// Reads `text`, which is all of an integer in decimal, without needless zeros. False for anything else, and
/// for more than 128 bits.
bool parse_integer(std::string_view text, Decimal& out);

/// Stores `value` as an integer of `width` bytes, at most 16; false if it does not fit.
bool store_integer(std::byte* to, const Decimal& value, std::size_t width, bool is_signed);

/// Appends the floating-point number of `width` bytes (4, 8 or 16): the shortest decimal that reads back as
/// the same; or a string for what JSON has no number for: "NaN", "-NaN", "NaN(0x...)" with the bits of any
/// other, "Infinity", "-Infinity", and hexadecimal ("0x1.8p-3000") for 16 bytes that are no double.
void append_float(std::string& out, const std::byte* from, std::size_t width);

/// Stores `value` as 16 bytes.
void store_binary128(std::byte* to, double value);
/// Stores the number that `text` is, a number of JSON, in `width` bytes; 16 bytes get the nearest double.
/// False if it is out of range.
bool store_number_text(std::byte* to, std::string_view text, std::size_t width);
/// Stores what append_float() wrote as a string. False for anything else.
bool store_float_string(std::byte* to, std::string_view text, std::size_t width);

/// Appends a duration of `ticks`, of a unit with that many nanoseconds: "1500ms".
void append_duration(std::string& out, Int128 ticks, std::uint64_t nanoseconds);
/// Reads "1.5s", "1500ms", "-2h" as ticks. False if it is no duration, or no whole number of ticks.
bool parse_duration(std::string_view text, std::uint64_t nanoseconds, Int128& ticks);

/// Appends a time of the system's clock as RFC 3339 has it, or the time since its epoch as a duration where
/// the year has not four digits.
void append_time(std::string& out, Int128 ticks, std::uint64_t nanoseconds);
/// Reads either, as ticks.
bool parse_time(std::string_view text, std::uint64_t nanoseconds, Int128& ticks);

}  // namespace weft::detail
