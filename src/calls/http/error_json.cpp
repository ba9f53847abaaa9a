// SPDX-License-Identifier: Apache-2.0
#include "calls/http/error_json.hpp"

#include <chrono>
#include <cstddef>

namespace weft::detail::http {

namespace {

/// Returns the length of the UTF-8 sequence at the beginning of `text`, which is not empty; 0 if it is none
/// (RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF).
std::size_t utf8_length(std::string_view text) {
  const auto byte = [text](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const auto continues = [&](std::size_t from, std::size_t to) {
    if (text.size() < to) return false;
    for (std::size_t i = from; i < to; ++i) {
      if ((byte(i) & 0xC0) != 0x80) return false;
    }
    return true;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return continues(1, 2) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    if (!continues(1, 3)) return 0;
    const bool overlong = first == 0xE0 && byte(1) < 0xA0;
    const bool surrogate = first == 0xED && byte(1) >= 0xA0;
    return overlong || surrogate ? 0 : 3;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    if (!continues(1, 4)) return 0;
    const bool overlong = first == 0xF0 && byte(1) < 0x90;
    const bool above = first == 0xF4 && byte(1) >= 0x90;
    return overlong || above ? 0 : 4;
  }
  return 0;
}

void append_control(std::string& out, unsigned char byte) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  out += "\\u00";
  out += kDigits[byte >> 4];
  out += kDigits[byte & 15];
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const char first = text.front();
    if (length == 0) {
      out += "\xEF\xBF\xBD";
    } else if (first == '"' || first == '\\') {
      out += '\\';
      out += first;
    } else if (static_cast<unsigned char>(first) < 0x20 || first == 0x7F) {
      append_control(out, static_cast<unsigned char>(first));
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out += '"';
}

std::string error_json(const Status& failure) {
  std::string out = "{\"code\":";
  append_json_string(out, to_string(failure.code()));
  out += ",\"message\":";
  append_json_string(out, failure.message());
  out += ",\"retry\":";
  append_json_string(out, to_string(failure.retry()));
  if (const Duration wait = failure.retry_after(); wait > Duration::zero()) {
    out += ",\"retry_after_ms\":" +
           std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(wait).count());
  }
  out += failure.unprocessed() ? ",\"unprocessed\":true}" : ",\"unprocessed\":false}";
  return out;
}

}  // namespace weft::detail::http
