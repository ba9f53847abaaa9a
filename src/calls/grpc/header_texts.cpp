// SPDX-License-Identifier: Apache-2.0
#include "calls/grpc/header_texts.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include "weft/detail/base/base64.hpp"

namespace weft::detail::grpc {

namespace {

constexpr std::size_t kTimeoutDigitsMax = 8;

constexpr bool is_printable(char letter) noexcept {
  return letter >= ' ' && letter <= '~';
}

constexpr bool is_key_letter(char letter) noexcept {
  return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') || letter == '-' ||
         letter == '_' || letter == '.';
}

std::optional<Duration> unit_of(char letter) noexcept {
  using namespace std::chrono_literals;
  switch (letter) {
    case 'H':
      return 1h;
    case 'M':
      return 1min;
    case 'S':
      return 1s;
    case 'm':
      return 1ms;
    case 'u':
      return 1us;
    case 'n':
      return 1ns;
    default:
      return std::nullopt;
  }
}

}  // namespace

// The largest, 99,999,999 hours, is more than a Duration holds.
std::optional<Duration> parse_timeout(std::string_view text) noexcept {
  if (text.size() < 2 || text.size() > kTimeoutDigitsMax + 1) return std::nullopt;
  const std::optional<Duration> unit = unit_of(text.back());
  std::uint32_t count = 0;
  const char* const end = text.data() + text.size() - 1;
  const auto parsed = std::from_chars(text.data(), end, count);
  if (!unit || parsed.ec != std::errc{} || parsed.ptr != end) return std::nullopt;
  Duration::rep whole = 0;
  if (__builtin_mul_overflow(unit->count(), static_cast<Duration::rep>(count), &whole)) return kNoTimeout;
  return Duration{whole};
}

void append_percent_encoded(std::string& to, std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  for (const char letter : text) {
    if (is_printable(letter) && letter != '%') {
      to += letter;
      continue;
    }
    const auto byte = static_cast<unsigned char>(letter);
    to += '%';
    to += kDigits[byte >> 4];
    to += kDigits[byte & 15];
  }
}

bool is_grpc_content(std::string_view content_type) noexcept {
  constexpr std::string_view kGrpc = "application/grpc";
  if (!content_type.starts_with(kGrpc)) return false;
  const std::string_view rest = content_type.substr(kGrpc.size());
  const std::string_view format = rest.substr(0, rest.find(';'));
  return format.empty() || format == "+proto";
}

bool is_metadata_key(std::string_view key) noexcept {
  constexpr std::array kReserved = {std::string_view{"content-type"},
                                    std::string_view{"te"},
                                    std::string_view{"host"},
                                    std::string_view{"connection"},
                                    std::string_view{"keep-alive"},
                                    std::string_view{"proxy-connection"},
                                    std::string_view{"upgrade"},
                                    std::string_view{"trailer"},
                                    std::string_view{"transfer-encoding"},
                                    std::string_view{"content-length"}};
  if (key.empty() || key.starts_with("grpc-") || !std::all_of(key.begin(), key.end(), is_key_letter)) {
    return false;
  }
  return std::find(kReserved.begin(), kReserved.end(), key) == kReserved.end();
}

bool is_plain_value(std::string_view value) noexcept {
  if (!std::all_of(value.begin(), value.end(), is_printable)) return false;
  return value.empty() || (value.front() != ' ' && value.back() != ' ');
}

bool decode_binary_value(std::string_view text, std::string& to) {
  std::string padded{text};
  while (padded.size() % 4 != 0) padded += '=';
  const std::optional<std::size_t> bytes = base64_decoded_size(padded);
  if (!bytes) return false;
  to.resize(*bytes);
  return decode_base64(padded, reinterpret_cast<std::byte*>(to.data()));
}

}  // namespace weft::detail::grpc
