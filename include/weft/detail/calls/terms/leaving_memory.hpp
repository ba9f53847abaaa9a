// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/memory/chunk_pool.hpp"

namespace weft::detail {

/// Memory of an answer that stays alive until its bytes were sent from there. It lends itself as a chunk and
/// is freed with that chunk. Thread: the loop of the chunk.
class LeavingMemory : private ChunkLender {
 public:
  virtual ~LeavingMemory() = default;

  /// Lends `kept` as a chunk that counts `bytes`, and frees it with the last reference to that chunk. Returns
  /// no chunk, and leaves `kept` alone, when memory is exhausted. The chunk's own bytes are never read.
  template <typename Memory>
  static ChunkRef lend(std::unique_ptr<Memory>& kept, std::size_t bytes, ChunkPool& chunks) noexcept {
    LeavingMemory& memory = *kept;
    ChunkRef chunk = chunks.lend({reinterpret_cast<std::byte*>(kept.get()), bytes}, memory);
    if (chunk) static_cast<void>(kept.release());
    return chunk;
  }

 private:
  void on_chunk_returned(MutableBytes memory) noexcept final {
    static_cast<void>(memory);
    delete this;
  }
};

}  // namespace weft::detail
