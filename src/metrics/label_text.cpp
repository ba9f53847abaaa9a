// SPDX-License-Identifier: Apache-2.0
#include "metrics/label_text.hpp"

#include <algorithm>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/utf8.hpp"

namespace weft::detail {

void add_label_text(std::string& text, std::string_view value) {
  if (valid_utf8(as_bytes(value)) == value.size() &&
      value.find_first_of("\\\"\n") == std::string_view::npos) {
    text += value;
    return;
  }
  while (!value.empty()) {
    const std::size_t good = utf8_character_bytes(as_bytes(value));
    const std::string_view character = value.substr(0, std::max<std::size_t>(good, 1));
    value.remove_prefix(character.size());
    if (good == 0) {
      text += "\xEF\xBF\xBD";
    } else if (character == "\n") {
      text += "\\n";
    } else {
      if (character == "\\" || character == "\"") text += '\\';
      text += character;
    }
  }
}

}  // namespace weft::detail
