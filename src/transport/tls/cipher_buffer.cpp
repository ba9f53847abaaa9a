// SPDX-License-Identifier: Apache-2.0
#include "transport/tls/cipher_buffer.hpp"

namespace weft::detail::tls {

bool CipherBuffer::open(std::size_t at_least) noexcept {
  if (!chunk_) chunk_ = chunks_.acquire(at_least);
  return static_cast<bool>(chunk_);
}

void CipherBuffer::drop(std::size_t bytes) noexcept {
  begin_ += bytes;
  close_if_empty();
}

void CipherBuffer::close_if_empty() noexcept {
  if (empty()) clear();
}

void CipherBuffer::clear() noexcept {
  begin_ = end_ = 0;
  chunk_.reset();
}

}  // namespace weft::detail::tls
