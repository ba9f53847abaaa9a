// SPDX-License-Identifier: Apache-2.0
#include "transport/tls/cipher_pipe.hpp"

#include <algorithm>
#include <cstring>

namespace weft::detail::tls {

Moved CipherPipe::fill(CipherBuffer& input) noexcept {
  const MutableBytes room = input.room();
  const iovec into{room.data(), room.size()};
  const Moved moved = base_->receive({&into, 1}, {});
  drained_ = moved.waits() || (moved.kind == Moved::Kind::kSome && moved.exhausted);
  if (moved.kind == Moved::Kind::kSome) input.add(moved.bytes);
  input.close_if_empty();
  return moved;
}

Moved CipherPipe::receive_plain(CipherBuffer& kept, std::span<const iovec> into,
                                std::span<const iovec> landing) {
  if (kept.empty()) return base_->receive(into, landing);
  std::size_t total = 0;
  for (const iovec& place : into) {
    const Bytes from = kept.bytes().first(std::min(kept.bytes().size(), place.iov_len));
    if (from.empty()) break;
    std::memcpy(place.iov_base, from.data(), from.size());
    total += from.size();
    kept.drop(from.size());
  }
  return Moved::some(total, false);
}

bool CipherPipe::drop_input() noexcept {
  std::byte scratch[4096];
  const iovec into{scratch, sizeof scratch};
  for (int looks = 0; looks < 16; ++looks) {
    const Moved moved = base_->receive({&into, 1}, {});
    if (moved.waits()) return true;
    if (moved.kind != Moved::Kind::kSome) return false;
  }
  return false;
}

int CipherPipe::error_behind_end() noexcept {
  std::byte scratch[4096];
  const iovec into{scratch, sizeof scratch};
  for (int looks = 0; looks < 16; ++looks) {
    const Moved moved = base_->receive({&into, 1}, {});
    if (moved.kind == Moved::Kind::kFailed) return moved.error;
    if (moved.kind != Moved::Kind::kSome) break;
  }
  return 0;
}

bool CipherPipe::flush(CipherBuffer& output) noexcept {
  while (!output.empty()) {
    if (send_error_ != 0) return false;
    const Bytes bytes = output.bytes();
    const iovec from{const_cast<std::byte*>(bytes.data()), bytes.size()};
    const Moved moved = base_->send({&from, 1}, 0);
    if (moved.kind == Moved::Kind::kFailed) send_error_ = moved.error;
    if (moved.kind != Moved::Kind::kSome) return false;
    output.drop(moved.bytes);
    if (moved.exhausted && !output.empty()) return false;
  }
  output.close_if_empty();
  return true;
}

}  // namespace weft::detail::tls
