// SPDX-License-Identifier: Apache-2.0
#include "http/host.hpp"

#include <algorithm>

#include "http/characters.hpp"

namespace weft::detail::http {

namespace {

bool is_port(std::string_view text) {
  if (text.empty() || text.size() > 5 || !std::all_of(text.begin(), text.end(), is_digit)) return false;
  unsigned port = 0;
  for (const char digit : text) port = port * 10 + static_cast<unsigned>(digit - '0');
  return port <= 65535;
}

}  // namespace

bool is_host_and_port(std::string_view text) noexcept {
  std::size_t end = 0;
  if (text.starts_with('[')) {
    const auto is_address_byte = [](char byte) {
      return byte == ':' || byte == '.' || is_in(byte, ByteClass::kHex);
    };
    for (end = 1; end < text.size() && is_address_byte(text[end]);) ++end;
    if (end < 3 || end == text.size() || text[end] != ']') return false;
    ++end;
  } else {
    while (end < text.size() && is_in(text[end], ByteClass::kHost)) ++end;
    if (end == 0) return false;
  }
  return end == text.size() || (text[end] == ':' && is_port(text.substr(end + 1)));
}

}  // namespace weft::detail::http
