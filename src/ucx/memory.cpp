// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/ucx/memory.hpp"

#include <cstring>
#include <limits>
#include <new>

#include "weft/detail/coro/frame_pool.hpp"

namespace weft::ucx {

namespace {

// What keeps a Buffer or a chunk alive. A block of the frame pool: adopting costs no malloc once it is warm.
template <typename Owner>
struct Adopted final : MemoryBlock, weft::detail::PooledFrame {
  explicit Adopted(Owner taken) noexcept
      : MemoryBlock([](MemoryBlock& block) noexcept { delete static_cast<Adopted*>(&block); }),
        owner(std::move(taken)) {}
  Owner owner;
};

}  // namespace

Memory Memory::adopt(Buffer buffer) {
  auto* adopted = new Adopted<Buffer>(std::move(buffer));
  return Memory{*adopted, adopted->owner.mutable_bytes()};
}

Memory Memory::adopt(weft::detail::ChunkRef chunk, std::size_t offset, std::size_t size) {
  WEFT_ASSERT(chunk && offset <= chunk->capacity() && size <= chunk->capacity() - offset,
              "the bytes lie within the chunk");
  auto* adopted = new Adopted<weft::detail::ChunkRef>(std::move(chunk));
  return Memory{*adopted, adopted->owner->memory().subspan(offset, size)};
}

Memory Memory::allocate(std::size_t size) {
  auto buffer = Buffer::try_allocate(size);
  if (!buffer.ok()) throw std::bad_alloc{};
  return adopt(std::move(buffer).value());
}

Memory Memory::copy_of(Bytes bytes) {
  Memory memory = allocate(bytes.size());
  if (!bytes.empty()) std::memcpy(memory.data(), bytes.data(), bytes.size());
  return memory;
}

struct alignas(64) MemoryPool::Block final : MemoryBlock {
  Block(MemoryPool& owner, std::size_t bytes) noexcept
      : MemoryBlock(&MemoryPool::give_back), pool(owner), size(bytes) {}
  std::byte* data() noexcept { return reinterpret_cast<std::byte*>(this + 1); }

  MemoryPool& pool;
  Block* next_free = nullptr;
  const std::size_t size;
};

MemoryPool::MemoryPool(std::size_t block_bytes, std::size_t cached_max) noexcept
    : block_bytes_(block_bytes), cached_max_(cached_max) {}

MemoryPool::~MemoryPool() {
  WEFT_ASSERT(out_ == 0, "memory outlives its pool");
  while (free_ != nullptr) {
    Block* block = free_;
    free_ = block->next_free;
    destroy(block);
  }
}

Memory MemoryPool::allocate(std::size_t size) noexcept {
  Block* block = free_;
  if (size > block_bytes_ || block == nullptr) {
    block = make(size > block_bytes_ ? size : block_bytes_);
    if (block == nullptr) return {};
  } else {
    free_ = block->next_free;
    --cached_;
  }
  ++out_;
  return Memory{*block, {block->data(), size}};
}

MemoryPool::Block* MemoryPool::make(std::size_t size) noexcept {
  if (size > std::numeric_limits<std::ptrdiff_t>::max() - sizeof(Block)) return nullptr;
  void* memory = ::operator new(sizeof(Block) + size, std::align_val_t{alignof(Block)}, std::nothrow);
  return memory == nullptr ? nullptr : ::new (memory) Block(*this, size);
}

void MemoryPool::destroy(Block* block) noexcept {
  block->~Block();
  ::operator delete(block, std::align_val_t{alignof(Block)});
}

void MemoryPool::give_back(MemoryBlock& given) noexcept {
  auto& block = static_cast<Block&>(given);
  MemoryPool& pool = block.pool;
  --pool.out_;
  if (block.size != pool.block_bytes_ || pool.cached_ >= pool.cached_max_) return destroy(&block);
  block.next_free = pool.free_;
  pool.free_ = &block;
  ++pool.cached_;
}

}  // namespace weft::ucx
