// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/memory/chunk_pool.hpp"

namespace weft::detail {

/// Memory of an answer that lasts until its bytes were sent from there: the lender of a chunk that stands for
/// it, and gone with that. Thread: the loop of the chunk.
class LeavingMemory : private ChunkLender {
 public:
  virtual ~LeavingMemory() = default;

  /// Lends `kept`, which goes with the last reference to the chunk, as a chunk that counts `bytes`. When
  /// memory is out it stays where it is, and there is no chunk. Nobody looks at the chunk's own bytes.
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
