// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "weft/base/bytes.hpp"

namespace weft::protobuf {

/// How many of `bytes`, from the first, are well-formed UTF-8: no overlong forms, no surrogates, nothing over
/// U+10FFFF.
std::size_t valid_utf8(Bytes bytes);

}  // namespace weft::protobuf
