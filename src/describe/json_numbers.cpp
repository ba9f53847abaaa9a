// SPDX-License-Identifier: Apache-2.0
#include "describe/json_numbers.hpp"

#include <bit>
#include <charconv>
#include <chrono>
#include <cstring>
#include <limits>

namespace weft::detail {

namespace {

using Chars = std::string_view;

bool is_decimal_digit(char c) {
  return c >= '0' && c <= '9';
}

template <typename T>
void append_number(std::string& out, T value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  out.append(text, end);
}
void append_padded(std::string& out, unsigned value, unsigned digits) {
  for (unsigned place = 1, i = 1; i < digits; ++i) {
    place *= 10;
    if (value < place) out += '0';
  }
  append_number(out, value);
}
void append_magnitude(std::string& out, Uint128 value) {
  constexpr std::uint64_t kPart = 10'000'000'000'000'000'000U;
  if (value <= std::numeric_limits<std::uint64_t>::max()) {
    return append_number(out, static_cast<std::uint64_t>(value));
  }
  append_magnitude(out, value / kPart);
  std::string low;
  append_number(low, static_cast<std::uint64_t>(value % kPart));
  out.append(19 - low.size(), '0');
  out += low;
}
void append_signed(std::string& out, Int128 value) {
  if (value < 0) out += '-';
  const auto bits = static_cast<Uint128>(value);
  append_magnitude(out, value < 0 ? 0 - bits : bits);
}

/// The bits of a floating-point number, and its parts. A fraction has its first bit at the top.
struct FloatBits {
  Uint128 bits;
  unsigned exponent_bits;
  unsigned fraction_bits;

  bool negative() const { return (bits >> (exponent_bits + fraction_bits) & 1) != 0; }
  unsigned exponent() const {
    return static_cast<unsigned>(bits >> fraction_bits) & ((1U << exponent_bits) - 1);
  }
  Uint128 fraction() const { return bits & ((Uint128{1} << fraction_bits) - 1); }
  bool is_finite() const { return exponent() != (1U << exponent_bits) - 1; }
  /// The only NaN with these bits beside the sign has the first bit of the fraction alone.
  bool is_plain_nan() const { return fraction() == Uint128{1} << (fraction_bits - 1); }
};

constexpr unsigned kFraction64 = 52;
constexpr unsigned kFraction128 = 112;
constexpr int kBias64 = 1023;
constexpr int kBias128 = 16383;

FloatBits load_float(const std::byte* from, std::size_t width) {
  FloatBits bits{0, width == 4 ? 8U : width == 8 ? 11U : 15U, width == 4 ? 23U : width == 8 ? 52U : 112U};
  std::memcpy(&bits.bits, from, width);
  return bits;
}
/// The empty one of the same width.
FloatBits empty_float(std::size_t width) {
  const Uint128 zero = 0;
  return load_float(reinterpret_cast<const std::byte*>(&zero), width);
}
void store_float(std::byte* to, const FloatBits& bits, std::size_t width) {
  std::memcpy(to, &bits.bits, width);
}

/// Binary128 to a double, if that holds it exactly and is not subnormal.
bool to_double(const FloatBits& from, double& out) {
  constexpr unsigned kLost = kFraction128 - kFraction64;
  const Uint128 fraction = from.fraction();
  std::uint64_t bits = 0;
  if (from.exponent() != 0 || fraction != 0) {
    const int exponent = static_cast<int>(from.exponent()) - kBias128 + kBias64;
    if (exponent < 1 || exponent > 2 * kBias64 || (fraction & ((Uint128{1} << kLost) - 1)) != 0) return false;
    bits =
        static_cast<std::uint64_t>(exponent) << kFraction64 | static_cast<std::uint64_t>(fraction >> kLost);
  }
  if (from.negative()) bits |= std::uint64_t{1} << 63;
  out = std::bit_cast<double>(bits);
  return true;
}
FloatBits from_double(double value) {
  FloatBits to = empty_float(16);
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto sign = static_cast<Uint128>(bits >> 63) << 127;
  int exponent = static_cast<int>(bits >> kFraction64 & 0x7FF);
  std::uint64_t fraction = bits & ((std::uint64_t{1} << kFraction64) - 1);
  if (exponent == 0 && fraction == 0) {
    to.bits = sign;
    return to;
  }
  if (exponent == 0) {  // subnormal here, but not in binary128
    const int up = std::countl_zero(fraction) - (63 - static_cast<int>(kFraction64));
    fraction = fraction << up & ((std::uint64_t{1} << kFraction64) - 1);
    exponent = 1 - up;
  }
  to.bits = sign | static_cast<Uint128>(exponent - kBias64 + kBias128) << kFraction128 |
            static_cast<Uint128>(fraction) << (kFraction128 - kFraction64);
  return to;
}

constexpr char kHexDigits[] = "0123456789abcdef";

void append_hex(std::string& out, Uint128 value, unsigned digits) {
  for (unsigned digit = digits; digit-- > 0;)
    out += kHexDigits[static_cast<unsigned>(value >> 4 * digit) & 15];
}
/// Reads all of `text`, at most `digits` of them, as the highest digits of a number of `digits`.
bool parse_hex(Chars text, unsigned digits, Uint128& out) {
  if (text.size() > digits) return false;
  out = 0;
  for (const char c : text) {
    const auto at = Chars{kHexDigits, 16}.find(c);
    if (at == Chars::npos) return false;
    out = out << 4 | at;
  }
  for (std::size_t i = text.size(); i < digits; ++i) out <<= 4;
  return true;
}

bool take(Chars& text, Chars words) {
  if (!text.starts_with(words)) return false;
  text.remove_prefix(words.size());
  return true;
}

/// "0x1.8p-3000", binary128 only.
void append_hexadecimal(std::string& out, const FloatBits& value) {
  out += value.exponent() == 0 ? "0x0." : "0x1.";
  append_hex(out, value.fraction(), kFraction128 / 4);
  while (out.back() == '0') out.pop_back();
  if (out.back() == '.') out.pop_back();
  out += 'p';
  append_number(out, (value.exponent() == 0 ? 1 : static_cast<int>(value.exponent())) - kBias128);
}
bool parse_hexadecimal(Chars text, FloatBits& out) {
  const bool subnormal = text.starts_with("0x0");
  if (!subnormal && !text.starts_with("0x1")) return false;
  text.remove_prefix(3);
  const std::size_t power = text.find('p');
  if (power == Chars::npos) return false;
  Uint128 fraction = 0;
  Chars digits = text.substr(0, power);
  if (take(digits, ".") ? digits.empty() || !parse_hex(digits, kFraction128 / 4, fraction)
                        : !digits.empty()) {
    return false;
  }
  int exponent = 0;
  const auto [end, error] = std::from_chars(text.data() + power + 1, text.data() + text.size(), exponent);
  if (error != std::errc{} || end != text.data() + text.size() || exponent < 1 - kBias128 ||
      exponent > kBias128 || (subnormal && exponent != 1 - kBias128)) {
    return false;
  }
  const Uint128 biased = subnormal ? 0 : static_cast<Uint128>(exponent + kBias128);
  out.bits |= biased << kFraction128 | fraction;
  return true;
}

template <typename T>
bool parse_float(Chars text, T& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size();
}

struct Unit {
  Chars name;
  std::uint64_t nanoseconds;
};
constexpr Unit kUnits[] = {
    {"ns", 1},
    {"us", 1'000},
    {"ms", 1'000'000},
    {"s", 1'000'000'000},
    {"min", 60'000'000'000},
    {"h", 3'600'000'000'000},
    {"d", 86'400'000'000'000},
};

constexpr Int128 kSecond = 1'000'000'000;
constexpr Int128 kDay = 86'400 * kSecond;

/// Reads a number of exactly `digits` digits.
bool take_digits(Chars& text, std::size_t digits, unsigned& out) {
  out = 0;
  if (text.size() < digits) return false;
  for (std::size_t i = 0; i < digits; ++i) {
    if (!is_decimal_digit(text[i])) return false;
    out = out * 10 + static_cast<unsigned>(text[i] - '0');
  }
  text.remove_prefix(digits);
  return true;
}
/// Reads the digits behind a point as billionths.
bool take_fraction(Chars& text, unsigned& out) {
  out = 0;
  unsigned digits = 0;
  for (; digits < 9 && !text.empty() && is_decimal_digit(text.front()); ++digits) {
    out = out * 10 + static_cast<unsigned>(text.front() - '0');
    text.remove_prefix(1);
  }
  const bool some = digits != 0;
  for (; digits < 9; ++digits) out *= 10;
  return some;
}
/// Reads "Z" or "+01:30" as minutes.
bool take_offset(Chars text, int& out) {
  out = 0;
  if (text == "Z") return true;
  const bool west = text.starts_with('-');
  if (!west && !text.starts_with('+')) return false;
  text.remove_prefix(1);
  unsigned hours = 0;
  unsigned minutes = 0;
  if (!take_digits(text, 2, hours) || !take(text, ":") || !take_digits(text, 2, minutes)) return false;
  if (!text.empty() || hours > 23 || minutes > 59) return false;
  out = static_cast<int>(hours * 60 + minutes) * (west ? -1 : 1);
  return true;
}
bool parse_date(Chars text, Int128& nanoseconds) {
  unsigned year = 0;
  unsigned month = 0;
  unsigned day = 0;
  unsigned hour = 0;
  unsigned minute = 0;
  unsigned second = 0;
  unsigned fraction = 0;
  int offset = 0;
  if (!take_digits(text, 4, year) || !take(text, "-") || !take_digits(text, 2, month) || !take(text, "-") ||
      !take_digits(text, 2, day) || !take(text, "T") || !take_digits(text, 2, hour) || !take(text, ":") ||
      !take_digits(text, 2, minute) || !take(text, ":") || !take_digits(text, 2, second)) {
    return false;
  }
  if (take(text, ".") && !take_fraction(text, fraction)) return false;
  const std::chrono::year_month_day date{std::chrono::year{static_cast<int>(year)}, std::chrono::month{month},
                                         std::chrono::day{day}};
  if (!take_offset(text, offset) || !date.ok() || hour > 23 || minute > 59 || second > 59) return false;
  const std::int64_t days = std::chrono::sys_days{date}.time_since_epoch().count();
  const std::int64_t minutes = std::int64_t{hour} * 60 + minute - offset;
  nanoseconds = days * kDay + (Int128{minutes} * 60 + second) * kSecond + fraction;
  return true;
}

bool to_ticks(Int128 value, std::uint64_t nanoseconds, Int128& ticks) {
  ticks = value / static_cast<Int128>(nanoseconds);
  return value % static_cast<Int128>(nanoseconds) == 0;
}

}  // namespace

Int128 load_integer(const std::byte* from, std::size_t width, bool is_signed) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, from, width);
  if (!is_signed) return bits;
  const unsigned unused = 64 - 8 * static_cast<unsigned>(width);
  return static_cast<std::int64_t>(bits << unused) >> unused;
}

void append_integer(std::string& out, const std::byte* from, std::size_t width, bool is_signed) {
  if (width <= 8) {
    const Int128 value = load_integer(from, width, is_signed);
    return is_signed ? append_number(out, static_cast<std::int64_t>(value))
                     : append_number(out, static_cast<std::uint64_t>(value));
  }
  Uint128 bits = 0;
  std::memcpy(&bits, from, width);
  if (is_signed) return append_signed(out, static_cast<Int128>(bits));
  append_magnitude(out, bits);
}

bool parse_integer(std::string_view text, Decimal& out) {
  out.negative = take(text, "-");
  out.magnitude = 0;
  if (text.empty() || (text.front() == '0' && (text.size() != 1 || out.negative))) return false;
  constexpr Uint128 kMax = ~Uint128{0};
  for (const char c : text) {
    if (!is_decimal_digit(c)) return false;
    const auto digit = static_cast<unsigned>(c - '0');
    if (out.magnitude > (kMax - digit) / 10) return false;
    out.magnitude = out.magnitude * 10 + digit;
  }
  return true;
}

bool store_integer(std::byte* to, const Decimal& value, std::size_t width, bool is_signed) {
  const unsigned bits = 8 * static_cast<unsigned>(width);
  const Uint128 top = Uint128{1} << (bits - 1);
  const Uint128 limit = is_signed ? (value.negative ? top : top - 1) : value.negative ? 0 : top - 1 + top;
  if (value.magnitude > limit) return false;
  const Uint128 stored = value.negative ? 0 - value.magnitude : value.magnitude;
  std::memcpy(to, &stored, width);
  return true;
}

void append_float(std::string& out, const std::byte* from, std::size_t width) {
  const FloatBits value = load_float(from, width);
  if (value.is_finite()) {
    double number = 0;
    if (width == 4) return append_number(out, load_le<float>(from));
    if (width == 8) return append_number(out, load_le<double>(from));
    if (to_double(value, number)) return append_number(out, number);
  }
  out += '"';
  const bool nan = !value.is_finite() && value.fraction() != 0;
  if (nan && !value.is_plain_nan()) {
    out += "NaN(0x";
    append_hex(out, value.bits, static_cast<unsigned>(width) * 2);
    out += ")\"";
    return;
  }
  if (value.negative()) out += '-';
  if (value.is_finite())
    append_hexadecimal(out, value);
  else
    out += nan ? "NaN" : "Infinity";
  out += '"';
}

void store_binary128(std::byte* to, double value) {
  store_float(to, from_double(value), 16);
}

bool store_number_text(std::byte* to, std::string_view text, std::size_t width) {
  float single = 0;
  double number = 0;
  if (width == 4) {
    if (!parse_float(text, single)) return false;
    store_le(to, single);
    return true;
  }
  if (!parse_float(text, number)) return false;
  if (width == 8)
    store_le(to, number);
  else
    store_binary128(to, number);
  return true;
}

bool store_float_string(std::byte* to, std::string_view text, std::size_t width) {
  FloatBits value = empty_float(width);
  const auto digits = static_cast<unsigned>(width) * 2;
  if (take(text, "NaN(0x")) {
    if (text.size() != digits + 1 || text.back() != ')') return false;
    text.remove_suffix(1);
    if (!parse_hex(text, digits, value.bits) || value.is_finite() || value.fraction() == 0) return false;
  } else {
    const Uint128 negative = take(text, "-") ? 1 : 0;
    value.bits = negative << (value.exponent_bits + value.fraction_bits);
    const Uint128 all_ones = (Uint128{1} << value.exponent_bits) - 1;
    if (text == "NaN")
      value.bits |= all_ones << value.fraction_bits | Uint128{1} << (value.fraction_bits - 1);
    else if (text == "Infinity")
      value.bits |= all_ones << value.fraction_bits;
    else if (width != 16 || !parse_hexadecimal(text, value))
      return false;
  }
  store_float(to, value, width);
  return true;
}

void append_duration(std::string& out, Int128 ticks, std::uint64_t nanoseconds) {
  append_signed(out, ticks);
  for (const Unit& unit : kUnits) {
    if (unit.nanoseconds == nanoseconds) out += unit.name;
  }
}

bool parse_duration(std::string_view text, std::uint64_t nanoseconds, Int128& ticks) {
  // Of 24 digits and the largest unit, nanoseconds fit into 127 bits.
  constexpr std::size_t kDigitsMax = 24;
  const bool negative = take(text, "-");
  Int128 value = 0;
  Int128 scale = 1;
  std::size_t digits = 0;
  bool point = false;
  std::size_t at = 0;
  for (; at < text.size() && (is_decimal_digit(text[at]) || (text[at] == '.' && !point)); ++at) {
    if (text[at] == '.') {
      point = true;
      if (digits == 0) return false;
      continue;
    }
    if (++digits > kDigitsMax) return false;
    value = value * 10 + (text[at] - '0');
    if (point) scale *= 10;
  }
  if (digits == 0 || text[at - 1] == '.') return false;
  for (const Unit& unit : kUnits) {
    if (text.substr(at) != unit.name) continue;
    value *= static_cast<Int128>(unit.nanoseconds);
    if (value % scale != 0) return false;
    return to_ticks(negative ? -value / scale : value / scale, nanoseconds, ticks);
  }
  return false;
}

void append_time(std::string& out, Int128 ticks, std::uint64_t nanoseconds) {
  const Int128 since = ticks * static_cast<Int128>(nanoseconds);
  const Int128 days = since / kDay - (since % kDay < 0 ? 1 : 0);
  using std::chrono::January, std::chrono::December;
  using std::chrono::sys_days;
  constexpr Int128 kFirst = sys_days{std::chrono::year{0} / January / 1}.time_since_epoch().count();
  constexpr Int128 kLast = sys_days{std::chrono::year{9999} / December / 31}.time_since_epoch().count();
  if (days < kFirst || days > kLast) return append_duration(out, ticks, nanoseconds);
  const std::chrono::year_month_day date{sys_days{std::chrono::days{static_cast<int>(days)}}};
  const Int128 rest = since - days * kDay;
  const auto second = static_cast<unsigned>(rest / kSecond);
  append_padded(out, static_cast<unsigned>(static_cast<int>(date.year())), 4);
  out += '-';
  append_padded(out, static_cast<unsigned>(date.month()), 2);
  out += '-';
  append_padded(out, static_cast<unsigned>(date.day()), 2);
  out += 'T';
  append_padded(out, second / 3600, 2);
  out += ':';
  append_padded(out, second / 60 % 60, 2);
  out += ':';
  append_padded(out, second % 60, 2);
  if (nanoseconds < 1'000'000'000) {
    out += '.';
    const unsigned digits = nanoseconds == 1 ? 9 : nanoseconds == 1'000 ? 6 : 3;
    append_padded(out, static_cast<unsigned>(rest % kSecond / static_cast<Int128>(nanoseconds)), digits);
  }
  out += 'Z';
}

bool parse_time(std::string_view text, std::uint64_t nanoseconds, Int128& ticks) {
  Int128 since = 0;
  return parse_date(text, since) ? to_ticks(since, nanoseconds, ticks)
                                 : parse_duration(text, nanoseconds, ticks);
}

}  // namespace weft::detail
