// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/ucx/am_send.hpp"

#include <array>

#include "weft/detail/coro/frame_pool.hpp"

namespace weft::ucx {

// UCX reads the list of pieces for as long as it reads the pieces, so one block owns both.
struct MemoryVector::Pieces final : MemoryBlock, weft::detail::PooledFrame {
  Pieces() noexcept : MemoryBlock([](MemoryBlock& block) noexcept { delete static_cast<Pieces*>(&block); }) {}

  std::array<ucp_dt_iov_t, kPiecesMax> list;
  std::array<Memory, kPiecesMax> memory;
};

static_assert(kAmHeaderCopiedMax == 64, "what advice() says");

std::string_view detail::AmSend::advice(ucs_status_t status) noexcept {
  switch (status) {
    case UCS_ERR_INVALID_PARAM:
      return "a header of bytes is copied and has at most 64 of them (kAmHeaderCopiedMax); give a longer one "
             "as Memory that has an owner";
    case UCS_ERR_EXCEEDS_LIMIT:
      return "the header is longer than Worker::am_header_bytes_max(): send the rest as data";
    default:
      return {};
  }
}

MemoryVector::MemoryVector(std::initializer_list<Memory> pieces) {
  for (const Memory& piece : pieces) add(piece);
}

MemoryVector::Pieces& MemoryVector::owner() noexcept {
  return *static_cast<Pieces*>(list_.block());
}

void MemoryVector::add(Memory piece) {
  WEFT_ASSERT(pieces_ < kPiecesMax && piece.owned(), "a vector has up to 16 pieces, which have owners");
  if (list_.block() == nullptr) {
    auto* made = new Pieces;
    list_ = Memory{*made, {reinterpret_cast<std::byte*>(made->list.data()), sizeof made->list}};
  }
  WEFT_ASSERT(list_.block()->references() == 1, "a vector that is being sent does not grow");
  bytes_ += piece.size();
  owner().list[pieces_] = {.buffer = piece.data(), .length = piece.size()};
  owner().memory[pieces_] = std::move(piece);
  ++pieces_;
}

}  // namespace weft::ucx
