// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "weft/detail/memory/buffer.hpp"

namespace weft {

/// A result and the attachment that came with it.
template <typename R>
struct Answer {
  R value;
  /// The attachment's length, also where it landed in the caller's buffer.
  std::size_t attachment_bytes = 0;
  /// The attachment itself, empty where it landed in the caller's buffer.
  Buffer attachment;
};
template <>
struct Answer<void> {
  std::size_t attachment_bytes = 0;
  Buffer attachment;
};

}  // namespace weft
