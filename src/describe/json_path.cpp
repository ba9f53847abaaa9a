// SPDX-License-Identifier: Apache-2.0
#include "describe/json_path.hpp"

#include "weft/detail/base/peer_text.hpp"

namespace weft::detail {

void append_member(std::string& path, std::string_view name) {
  path += '.';
  path += peer_text(name, 60);
}
void append_key(std::string& path, std::string_view key) {
  path += "[\"";
  path += peer_text(key, 60);
  path += "\"]";
}
void append_element(std::string& path, std::uint64_t place) {
  path += '[';
  path += std::to_string(place);
  path += ']';
}

}  // namespace weft::detail
