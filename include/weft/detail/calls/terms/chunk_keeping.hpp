// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/memory/chunk_pool.hpp"

namespace weft::detail {

/// Size up to which a body that outlives its receiving is copied, so that a short one does not keep a whole
/// chunk from being received into.
inline constexpr std::size_t kCopiedBodyBytes = 8 * 1024;

/// Tells whether `body` is most of `chunk`, where it was received: what keeps this holds little more than
/// that.
inline bool is_most_of(Bytes body, const Chunk& chunk) noexcept {
  return body.size() >= chunk.capacity() / 4 * 3;
}

/// Tells whether `body`, which outlives its receiving, keeps `chunk` for that; else it is copied.
inline bool stays_in_chunk(Bytes body, const ChunkRef& chunk) noexcept {
  return body.size() > kCopiedBodyBytes && chunk && is_most_of(body, *chunk);
}

/// Tells whether a caller that looks at `body` for a short time keeps `chunk` for that. Memory of another
/// library is not kept: it has few receive buffers.
inline bool may_be_looked_at_in(Bytes body, Chunk& chunk) noexcept {
  const std::byte* const begin = chunk.data();
  return body.size() > kCopiedBodyBytes && body.size() >= chunk.capacity() / 16 && !chunk.is_lent() &&
         std::less_equal<>{}(begin, body.data()) &&
         std::less_equal<>{}(body.data() + body.size(), begin + chunk.capacity());
}

}  // namespace weft::detail
