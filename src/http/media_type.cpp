// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/http/media_type.hpp"

#include <algorithm>
#include <optional>

#include "http/characters.hpp"

namespace weft::detail::http {

namespace {

// Takes the part before the next `separator` outside a quoted string (RFC 9110, 5.6.4) off `text`.
std::string_view take_part(std::string_view& text, char separator) {
  bool quoted = false;
  std::size_t at = 0;
  for (; at < text.size() && (quoted || text[at] != separator); ++at) {
    if (text[at] == '"') quoted = !quoted;
    if (quoted && text[at] == '\\') ++at;
  }
  at = std::min(at, text.size());
  const std::string_view part = without_spaces_around(text.substr(0, at));
  text.remove_prefix(std::min(at + 1, text.size()));
  return part;
}

// Thousandths of "0", "1" or a number with up to three decimals (RFC 9110, 12.4.2).
std::optional<unsigned> weight_of(std::string_view text) {
  if (text.empty() || text.size() > 5 || (text[0] != '0' && text[0] != '1')) return std::nullopt;
  if (text.size() > 1 && text[1] != '.') return std::nullopt;
  unsigned weight = text[0] == '1' ? kFullWeight : 0;
  unsigned unit = kFullWeight / 10;
  for (const char digit : text.substr(std::min<std::size_t>(text.size(), 2))) {
    if (!is_digit(digit)) return std::nullopt;
    weight += static_cast<unsigned>(digit - '0') * unit;
    unit /= 10;
  }
  return weight <= kFullWeight ? std::optional{weight} : std::nullopt;
}

// Weight among the parameters of a range, which are those of its media type and perhaps q.
std::optional<unsigned> weight_in(std::string_view parameters) {
  while (!parameters.empty()) {
    const std::string_view parameter = take_part(parameters, ';');
    const std::size_t equals = std::min(parameter.find('='), parameter.size());
    if (!equal_ignoring_case(parameter.substr(0, equals), "q")) continue;
    return weight_of(parameter.substr(std::min(equals + 1, parameter.size())));
  }
  return kFullWeight;
}

// How closely a range names a type: 3 by its name, 2 by "type/*", 1 by "*/*", 0 not at all.
int closeness(std::string_view range, std::string_view type) {
  if (equal_ignoring_case(range, type)) return 3;
  if (range == "*/*") return 1;
  const std::size_t slash = range.find('/');
  if (slash == std::string_view::npos || range.substr(slash) != "/*") return 0;
  return equal_ignoring_case(range.substr(0, slash + 1), type.substr(0, slash + 1)) ? 2 : 0;
}

/// The best range so far.
struct Best {
  int closeness = 0;
  unsigned weight = 0;

  void look_at(std::string_view accept, std::string_view type) {
    while (!accept.empty()) {
      std::string_view range = take_part(accept, ',');
      const int close = http::closeness(take_part(range, ';'), type);
      const std::optional<unsigned> its_weight = weight_in(range);
      if (close < std::max(closeness, 1) || !its_weight) continue;
      weight = close > closeness ? *its_weight : std::max(weight, *its_weight);
      closeness = close;
    }
  }
};

}  // namespace

bool is_media_type(std::string_view content_type, std::string_view type) noexcept {
  return equal_ignoring_case(take_part(content_type, ';'), type);
}

unsigned accept_weight(std::string_view accept, std::string_view type) noexcept {
  Best best;
  best.look_at(accept, type);
  return best.weight;
}

unsigned accept_weight(const Request& request, std::string_view type) noexcept {
  Best best;
  bool given = false;
  for (std::size_t at = 0; at < request.header_count(); ++at) {
    const HeaderField field = request.header(at);
    if (!is_name(field.name, "accept")) continue;
    given = true;
    best.look_at(field.value, type);
  }
  return given ? best.weight : kFullWeight;
}

}  // namespace weft::detail::http
