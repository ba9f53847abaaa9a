// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/codec/arena.hpp"

#include <algorithm>
#include <cstdint>
#include <new>

namespace weft::detail {

namespace {

std::byte* align_up(std::byte* at, std::size_t alignment) {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  return at + ((0 - address) & (alignment - 1));
}

}  // namespace

std::byte* DecodeArena::allocate(std::size_t size, std::size_t alignment, std::size_t expected) {
  if (top_ != nullptr) {
    std::byte* start = align_up(at_, alignment);
    if (start <= end_ && static_cast<std::size_t>(end_ - start) >= size) {
      at_ = start + size;
      return start;
    }
  }
  const std::size_t bytes = sizeof(Block) + alignment + std::max(size, expected);
  auto* memory = static_cast<std::byte*>(::operator new(bytes));
  top_ = new (memory) Block{top_};
  end_ = memory + bytes;
  std::byte* start = align_up(memory + sizeof(Block), alignment);
  at_ = start + size;
  return start;
}

void DecodeArena::release() noexcept {
  while (top_ != nullptr) {
    Block* below = top_->below;
    ::operator delete(static_cast<void*>(top_));
    top_ = below;
  }
}

}  // namespace weft::detail
