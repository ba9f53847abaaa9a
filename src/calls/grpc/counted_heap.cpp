// SPDX-License-Identifier: Apache-2.0
#include "calls/grpc/counted_heap.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "weft/detail/coro/frame_pool.hpp"

namespace weft::detail::grpc {

namespace {

/// Begins each block; the bytes behind it are the caller's.
struct alignas(std::max_align_t) BlockHead {
  std::size_t size;
};

BlockHead* head_of(void* block) noexcept {
  return static_cast<BlockHead*>(block) - 1;
}

}  // namespace

void* CountedHeap::allocate(std::size_t size) noexcept {
  if (size > bytes_max_ || used_ + size > bytes_max_) return nullptr;
  const std::size_t whole = sizeof(BlockHead) + size;
  try {
    auto* const head = ::new (allocate_frame(whole)) BlockHead{whole};
    used_ += whole;
    return head + 1;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void CountedHeap::release(void* block) noexcept {
  if (block == nullptr) return;
  BlockHead* const head = head_of(block);
  used_ -= head->size;
  release_frame(head, head->size);
}

void* CountedHeap::reallocate(void* block, std::size_t size) noexcept {
  void* const bigger = allocate(size);
  if (bigger == nullptr || block == nullptr) return bigger;
  std::memcpy(bigger, block, std::min(size, head_of(block)->size - sizeof(BlockHead)));
  release(block);
  return bigger;
}

}  // namespace weft::detail::grpc
