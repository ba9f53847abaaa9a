// SPDX-License-Identifier: Apache-2.0
#include "calls/grpc/message_reader.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "weft/detail/coro/frame_pool.hpp"

namespace weft::detail::grpc {

namespace {

/// Size from which on a message is put together in a chunk, which its receiver may keep.
constexpr std::size_t kChunkFrom = 16 * 1024;
/// Memory for the first bytes of a message when they are few, and the growth from there on.
constexpr std::size_t kFirstCapacity = 1024;
constexpr std::size_t kGrowth = 2;
/// Number of first bytes from which on a message begins in a chunk, and the growth from there on.
constexpr std::size_t kManyBytes = 8 * 1024;
constexpr std::size_t kChunkCapacity = 64 * 1024;
constexpr std::size_t kChunkGrowth = 4;

/// Returns the capacity for a message with `arrived` bytes that does not fit into `before`.
constexpr std::size_t next_capacity(std::size_t before, std::size_t arrived) noexcept {
  if (arrived >= kManyBytes) return std::max(kChunkCapacity, kChunkGrowth * before);
  return std::max({kFirstCapacity, arrived, kGrowth * before});
}

}  // namespace

MessageReader::Step MessageReader::next(Bytes& data) {
  if (message_.data() != nullptr) drop();
  if (prefix_bytes_ != kPrefixBytes) {
    if (!take_prefix(data)) return Step::kMore;
    if (prefix_[0] > std::byte{1}) return Step::kBadFlag;
    if (length_ > bytes_max_) return Step::kTooLarge;
    if (data.size() >= length_) {
      static constexpr std::byte kEmpty{};
      message_ = length_ == 0 ? Bytes{&kEmpty, 0} : data.first(length_);
      data = data.subspan(length_);
      prefix_bytes_ = 0;
      return Step::kMessage;
    }
  }
  const std::size_t part = std::min<std::size_t>(data.size(), length_ - arrived_);
  if (!append(data.first(part))) return Step::kNoMemory;
  data = data.subspan(part);
  if (arrived_ != length_) return Step::kMore;
  message_ = {buffer_ + headroom_, length_};
  prefix_bytes_ = 0;
  return Step::kMessage;
}

bool MessageReader::take_prefix(Bytes& data) noexcept {
  const std::size_t part = std::min<std::size_t>(data.size(), kPrefixBytes - prefix_bytes_);
  std::copy_n(data.begin(), part, prefix_.begin() + prefix_bytes_);
  prefix_bytes_ = static_cast<std::uint8_t>(prefix_bytes_ + part);
  data = data.subspan(part);
  if (prefix_bytes_ != kPrefixBytes) return false;
  length_ = 0;
  for (std::size_t i = 1; i < kPrefixBytes; ++i) {
    length_ = length_ << 8 | std::to_integer<std::uint32_t>(prefix_[i]);
  }
  return true;
}

// Memory is taken for the bytes that have arrived, never for the announced ones.
bool MessageReader::append(Bytes bytes) {
  if (bytes.empty()) return true;
  const std::size_t all = arrived_ + bytes.size();
  while (buffer_ == nullptr || all > capacity_) {
    if (!grow(std::min<std::size_t>(next_capacity(capacity_, all), length_))) return false;
  }
  std::memcpy(buffer_ + headroom_ + arrived_, bytes.data(), bytes.size());
  arrived_ = all;
  return true;
}

// A standard chunk may be larger than asked for, and counts as a whole. While bytes are moved, both count.
bool MessageReader::grow(std::size_t capacity) {
  std::size_t whole = headroom_ + capacity;
  ChunkRef chunk;
  std::byte* buffer = nullptr;
  if (capacity >= kChunkFrom) {
    chunk = chunks_.acquire(whole);
    if (!chunk) return false;
    buffer = chunk->data();
    whole = chunk->capacity();
  }
  if (!memory_.reserve(whole)) return false;
  if (!chunk) {
    try {
      buffer = static_cast<std::byte*>(allocate_frame(whole));
    } catch (const std::bad_alloc&) {
      memory_.release(whole);
      return false;
    }
  }
  memory_.release(std::exchange(charged_, whole));
  if (arrived_ != 0) std::memcpy(buffer + headroom_, buffer_ + headroom_, arrived_);
  free_buffer(buffer_, capacity_, static_cast<bool>(chunk_));
  buffer_ = buffer;
  chunk_ = std::move(chunk);
  capacity_ = capacity;
  return true;
}

bool MessageReader::keep_message() {
  if (buffer_ != nullptr || message_.data() == nullptr) return true;
  const Bytes message = std::exchange(message_, {});
  if (!grow(std::max<std::size_t>(message.size(), 1)) || !append(message)) return false;
  message_ = {buffer_ + headroom_, message.size()};
  return true;
}

void MessageReader::free_buffer(std::byte* buffer, std::size_t capacity, bool in_chunk) const noexcept {
  if (buffer != nullptr && !in_chunk) release_frame(buffer, headroom_ + capacity);
}

void MessageReader::drop() noexcept {
  free_buffer(buffer_, capacity_, static_cast<bool>(chunk_));
  chunk_.reset();
  buffer_ = nullptr;
  message_ = {};
  capacity_ = arrived_ = 0;
  if (charged_ != 0) memory_.release(std::exchange(charged_, 0));
}

}  // namespace weft::detail::grpc
