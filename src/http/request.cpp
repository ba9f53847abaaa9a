// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/http/request.hpp"

#include <algorithm>

#include "http/characters.hpp"

namespace weft::detail::http {

namespace {

char lower(char byte) {
  return byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte + ('a' - 'A')) : byte;
}

// A '%' without two digits stays as it is.
std::string form_decoded(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '%' && text.size() - at > 2 && is_in(text[at + 1], ByteClass::kHex) &&
        is_in(text[at + 2], ByteClass::kHex)) {
      decoded += static_cast<char>(hex_value(text[at + 1]) * 16 + hex_value(text[at + 2]));
      at += 2;
    } else {
      decoded += text[at] == '+' ? ' ' : text[at];
    }
  }
  return decoded;
}

}  // namespace

std::string_view to_string(Method method) {
  switch (method) {
    case Method::kGet:
      return "GET";
    case Method::kHead:
      return "HEAD";
    case Method::kPost:
      return "POST";
    case Method::kPut:
      return "PUT";
    case Method::kDelete:
      return "DELETE";
    case Method::kPatch:
      return "PATCH";
    case Method::kOptions:
      return "OPTIONS";
  }
  return "unknown";
}

std::optional<std::string_view> Request::find(std::string_view name) const noexcept {
  for (const Field& field : fields_) {
    if (equal_ignoring_case(view(field.name), name)) return view(field.value);
  }
  return std::nullopt;
}

std::size_t Request::count(std::string_view name) const noexcept {
  return static_cast<std::size_t>(std::count_if(fields_.begin(), fields_.end(), [&](const Field& field) {
    return equal_ignoring_case(view(field.name), name);
  }));
}

bool equal_ignoring_case(std::string_view a, std::string_view b) noexcept {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return lower(x) == lower(y); });
}

bool list_has(std::string_view list, std::string_view token) noexcept {
  for (;;) {
    const std::size_t comma = list.find(',');
    if (equal_ignoring_case(without_spaces_around(list.substr(0, comma)), token)) return true;
    if (comma == std::string_view::npos) return false;
    list.remove_prefix(comma + 1);
  }
}

std::optional<std::string> query_value(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    const std::size_t equals = std::min(pair.find('='), pair.size());
    if (form_decoded(pair.substr(0, equals)) == name) {
      return form_decoded(pair.substr(std::min(equals + 1, pair.size())));
    }
  }
  return std::nullopt;
}

}  // namespace weft::detail::http
