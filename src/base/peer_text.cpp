// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/base/peer_text.hpp"

#include <algorithm>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/utf8.hpp"

namespace weft::detail {

namespace {

/// Returns true if a well-formed character changes how its neighbours are displayed.
bool is_control(std::string_view character) {
  const auto byte = [character](std::size_t at) { return static_cast<unsigned char>(character[at]); };
  if (character.size() == 1) return byte(0) < 0x20 || byte(0) == 0x7F;
  if (character.size() == 2) return byte(0) == 0xC2 && byte(1) < 0xA0;  // U+0080 to U+009F
  if (character.size() != 3 || byte(0) != 0xE2) return false;
  // Marks, ends of lines and paragraphs, and embeddings: U+200E, U+200F, U+2028 to U+202E. Isolates: U+2066
  // to U+2069.
  if (byte(1) == 0x80) return byte(2) == 0x8E || byte(2) == 0x8F || (byte(2) >= 0xA8 && byte(2) <= 0xAE);
  return byte(1) == 0x81 && byte(2) >= 0xA6 && byte(2) <= 0xA9;
}

constexpr std::string_view kCut = " ... ";

/// Adds the characters that begin in `text` and end within `bytes` to `safe`. The text does not grow.
void add_safe(std::string_view text, std::size_t bytes, std::string& safe) {
  while (!text.empty()) {
    const std::size_t good = utf8_character_bytes(as_bytes(text));
    const std::string_view character = text.substr(0, std::max<std::size_t>(good, 1));
    if (character.size() > bytes) return;
    bytes -= character.size();
    safe += good == 0 || is_control(character) ? "?" : character;
    text.remove_prefix(character.size());
  }
}

}  // namespace

std::string peer_text(std::string_view text, std::size_t bytes_max) {
  std::string safe;
  safe.reserve(std::min(text.size(), std::max(bytes_max, kCut.size())));
  if (text.size() <= bytes_max) {
    add_safe(text, text.size(), safe);
    return safe;
  }
  const std::size_t kept = bytes_max - std::min(bytes_max, kCut.size());
  const std::size_t tail = kept / 2;
  add_safe(text, kept - tail, safe);
  safe += kCut;
  std::string_view end = text.substr(text.size() - tail);
  // The rest of a character that was cut in two.
  for (int i = 0; i < 3 && !end.empty() && (static_cast<unsigned char>(end.front()) & 0xC0) == 0x80; ++i) {
    end.remove_prefix(1);
  }
  add_safe(end, end.size(), safe);
  return safe;
}

}  // namespace weft::detail
