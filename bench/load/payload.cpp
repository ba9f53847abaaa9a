// SPDX-License-Identifier: Apache-2.0
#include "load/payload.hpp"

namespace weft::load {

void fill_pattern(MutableBytes payload) {
  for (std::size_t offset = 0; offset < payload.size(); offset += 8) {
    const std::uint64_t word = pattern_word(offset / 8);
    std::memcpy(payload.data() + offset, &word, std::min<std::size_t>(8, payload.size() - offset));
  }
}

}  // namespace weft::load
