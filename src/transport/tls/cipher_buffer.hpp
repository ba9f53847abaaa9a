// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/memory/chunk_pool.hpp"

namespace weft::detail::tls {

/// Encrypted bytes on their way between OpenSSL and the base carrier, in a chunk of the loop: added at the
/// end, dropped from the beginning. While empty it holds no chunk.
class CipherBuffer {
 public:
  explicit CipherBuffer(ChunkPool& chunks) noexcept : chunks_(chunks) {}

  bool empty() const noexcept { return begin_ == end_; }
  Bytes bytes() const noexcept { return {data() + begin_, end_ - begin_}; }
  /// Provides a chunk, of `at_least` bytes if there was none. Returns false when memory is exhausted.
  bool open(std::size_t at_least) noexcept;
  /// The memory behind the last byte, which open() has seen to.
  MutableBytes room() const noexcept { return {data() + end_, chunk_ ? chunk_->capacity() - end_ : 0}; }
  void add(std::size_t bytes) noexcept { end_ += bytes; }
  void drop(std::size_t bytes) noexcept;
  /// Gives the chunk back when nothing is in it.
  void close_if_empty() noexcept;
  /// Drops everything.
  void clear() noexcept;

 private:
  std::byte* data() const noexcept { return chunk_ ? chunk_->data() : nullptr; }

  ChunkPool& chunks_;
  ChunkRef chunk_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace weft::detail::tls
