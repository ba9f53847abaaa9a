// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "weft/detail/base/bytes.hpp"

namespace weft::detail {

/// The length of the character that `bytes`, which is not empty, begins with; 0 when it is not well formed:
/// no overlong forms, no surrogates, nothing over U+10FFFF.
std::size_t utf8_character_bytes(Bytes bytes);

/// Returns how many of `bytes`, from the first, are well-formed UTF-8.
std::size_t valid_utf8(Bytes bytes);

}  // namespace weft::detail
