// SPDX-License-Identifier: Apache-2.0
#include "calls/grpc/outgoing_messages.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "weft/detail/coro/frame_pool.hpp"

namespace weft::detail::grpc {

namespace {

constexpr std::size_t kPrefixBytes = 5;

}  // namespace

/// Head of a block; the bytes lie behind it.
struct OutgoingMessages::Block {
  Block* next = nullptr;
  std::size_t size = 0;
  std::size_t begin = 0;
  std::uint64_t cost = 0;

  std::byte* bytes() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
  static Block* of_size(std::size_t size) noexcept {
    try {
      auto* const block = ::new (allocate_frame(sizeof(Block) + size)) Block{};
      block->size = size;
      return block;
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  }
};

// The caller has checked the size against a limit of 32 bits.
OutgoingMessages::Block* OutgoingMessages::make(std::size_t bytes) noexcept {
  Block* const block = Block::of_size(kPrefixBytes + bytes);
  if (block == nullptr) return nullptr;
  block->bytes()[0] = std::byte{0};
  for (std::size_t i = 1; i < kPrefixBytes; ++i) {
    block->bytes()[i] = static_cast<std::byte>(bytes >> 8 * (kPrefixBytes - 1 - i));
  }
  return block;
}

std::byte* OutgoingMessages::body_of(Block& block) noexcept {
  return block.bytes() + kPrefixBytes;
}

void OutgoingMessages::free(Block* block) noexcept {
  if (block != nullptr) release_frame(block, sizeof(Block) + block->size);
}

bool OutgoingMessages::push(Block* block, std::uint64_t cost) {
  if (!memory_.reserve(block->size)) {
    free(block);
    return false;
  }
  block->cost = cost;
  append(block);
  return true;
}

bool OutgoingMessages::push_text(std::string_view text) {
  Block* const block = Block::of_size(text.size());
  if (block == nullptr) return false;
  std::memcpy(block->bytes(), text.data(), text.size());
  return push(block, 0);
}

void OutgoingMessages::append(Block* block) noexcept {
  (last_ == nullptr ? first_ : last_->next) = block;
  last_ = block;
  bytes_ += block->size;
}

Bytes OutgoingMessages::front(std::size_t bytes_max) const noexcept {
  return {first_->bytes() + first_->begin, std::min(bytes_max, first_->size - first_->begin)};
}

void OutgoingMessages::pop(std::size_t bytes) noexcept {
  first_->begin += bytes;
  bytes_ -= bytes;
  if (first_->begin != first_->size) return;
  left_ += first_->cost;
  Block* const gone = std::exchange(first_, first_->next);
  if (first_ == nullptr) last_ = nullptr;
  memory_.release(gone->size);
  free(gone);
}

void OutgoingMessages::clear() noexcept {
  while (first_ != nullptr) pop(first_->size - first_->begin);
}

}  // namespace weft::detail::grpc
