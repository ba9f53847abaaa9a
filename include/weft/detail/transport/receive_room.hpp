// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "weft/detail/memory/chunk_pool.hpp"

namespace weft::detail {

/// Chooses the chunks that a framer receives into: by the bytes needed, by the bytes that have arrived, and
/// by the recent sizes of frames. Beyond 256 KiB a chunk exceeds the share of the arrived bytes only if the
/// pool keeps such a chunk anyway and counts it as unfilled, or by as much as avoids a move at the end.
/// Thread: the pool's.
class ReceiveRoom {
 public:
  explicit ReceiveRoom(ChunkPool& chunks) noexcept : chunks_(chunks) {}

  /// `bytes` do not fit a standard chunk.
  bool is_large(std::uint64_t bytes) const noexcept { return bytes > chunks_.chunk_bytes(); }
  /// Records that one receive brought `bytes`, while `needed` were needed. `filled` bytes lie consecutively
  /// in a chunk without further room, earlier bytes included; 0 if there is room. Where parts of frames wait
  /// in a standard chunk, no receive ever brings as much as such a chunk holds.
  void received(std::size_t bytes, std::size_t needed, std::size_t filled) noexcept {
    // The wish was too large for this; the head of the next long frame makes a new one.
    if (needed <= chunks_.chunk_bytes() && bytes < wished_) expect_less();
    if (bytes >= chunks_.chunk_bytes() || filled >= chunks_.chunk_bytes() / 2) {
      expect_much();
    } else if (needed <= chunks_.chunk_bytes()) {
      wished_ = 0;
    }
  }
  /// A frame that is_large() arrives, of `bytes`.
  void expect(std::size_t bytes) noexcept;
  /// Says that a piece is expected. Behind a piece of an attachment mostly comes the next one, of the same
  /// attachment or of another, and its bytes go to their place without a detour through a chunk if no more
  /// than heads is received before.
  void expect_piece(bool expected) noexcept { expects_piece_ = expected; }
  /// True if the next frame is expected to be a long one that is received alone: bytes received behind
  /// another frame would have to be moved to a chunk of their own.
  bool expects_long() const noexcept { return wished_ > chunks_.roomy_bytes(); }
  /// Returns how much of `room` in a chunk the next receive is to use, where `there` of `needed` bytes are
  /// there: to the end of a long frame, or, where another one is expected, as much as the last one had.
  std::size_t bounded(std::size_t room, std::size_t needed, std::size_t there) const noexcept {
    if (expects_piece_) return std::min(room, kHeadsBytes);
    if (needed > chunks_.roomy_bytes() && needed > there) return std::min(room, needed - there);
    return there == 0 && expects_long() ? std::min<std::size_t>(room, wished_) : room;
  }
  /// A chunk of more than `bytes` would be better.
  bool wishes_more(std::size_t bytes) const noexcept { return wished_ > bytes; }

  /// `bytes` of what a receive brought were put into `chunk`.
  void fill(Chunk& chunk, std::size_t bytes) noexcept { chunks_.fill(chunk, bytes); }
  /// Returns the preferred chunk, with `begin` bytes unused at its front, for `there` arrived bytes and the
  /// following ones. Null if there is no such chunk.
  ChunkRef take_wished(std::size_t begin, std::size_t there) noexcept;
  /// Returns a chunk for `needed` bytes, `there` of them arrived, or for as many as the arrived bytes
  /// justify. Null when memory is exhausted.
  ChunkRef take_needed(std::size_t begin, std::size_t needed, std::size_t there) noexcept {
    if (begin + there < chunks_.chunk_bytes() && begin + needed <= chunks_.chunk_bytes()) [[likely]] {
      return chunks_.acquire();
    }
    return take_large(begin, needed, there);
  }
  /// Returns a chunk for exactly `bytes`, all of them arrived.
  ChunkRef take(std::size_t bytes) noexcept { return chunks_.acquire(bytes); }
  /// Returns a smaller chunk for `there` of `needed` bytes that wait in `chunk`, if `chunk` is too large for
  /// them. With `may_count`, bytes of a long frame stay in place if the chunk has no other user, as long as
  /// the rest of it may be unfilled and the frame can fill it.
  ChunkRef take_smaller(std::size_t begin, std::size_t needed, std::size_t there, Chunk& chunk,
                        bool may_count) noexcept;
  /// Moves `body`, which has no other user, from `chunk` to a smaller chunk if `chunk` is too large for it.
  void fit(Bytes& body, ChunkRef& chunk) noexcept;

  bool is_standard(const Chunk& chunk) const noexcept { return chunk.capacity() == chunks_.chunk_bytes(); }
  std::size_t standard_bytes() const noexcept { return chunks_.chunk_bytes(); }

 private:
  /// Heads of a piece and of some calls: to receive more small frames than these once more costs less than to
  /// copy what a chunk has room for of a piece.
  static constexpr std::size_t kHeadsBytes = 1024;

  std::size_t due_to(std::size_t there) const noexcept;
  void expect_much() noexcept;
  void expect_less() noexcept;
  ChunkRef take_large(std::size_t begin, std::size_t needed, std::size_t there) noexcept;

  ChunkPool& chunks_;
  /// The next chunk had better be so large, as the last one was used in full; 0: a standard one will do.
  std::uint32_t wished_ = 0;
  bool expects_piece_ = false;
};

}  // namespace weft::detail
