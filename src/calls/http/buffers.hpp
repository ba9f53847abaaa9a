// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "weft/detail/base/status.hpp"

namespace weft::detail::http {

/// Buffers of a request that are larger are given back behind it.
inline constexpr std::size_t kKeptBytes = 16 * 1024;

/// Empties a buffer. Its memory is kept for the next request unless it is large.
template <typename Container>
void empty_out(Container& buffer) noexcept {
  if (buffer.capacity() > kKeptBytes) {
    Container{}.swap(buffer);
  } else {
    buffer.clear();
  }
}

inline constexpr FixedFailure kNoMemoryForCall{StatusCode::kResourceExhausted, Layer::kRpc, Retry::kBackoff,
                                               "the server is out of memory for the call"};
inline constexpr FixedFailure kBodyTakesMemory{
    StatusCode::kResourceExhausted, Layer::kRpc, Retry::kBackoff,
    "the server's memory (process_memory_max) has no room for the body of the request"};

}  // namespace weft::detail::http
