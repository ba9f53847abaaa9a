// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "calls/grpc/connection_memory.hpp"
#include "weft/detail/base/bytes.hpp"
#include "weft/detail/memory/chunk_pool.hpp"

namespace weft::detail::grpc {

/// Length-prefixed messages of one body:
///
///      0            1        2        3        4        5
///  0 | compressed | length, big-endian                  | message, `length` bytes
///
/// A message that lies in one piece of the body is not copied. Others are put together in memory that grows
/// with the bytes that arrived, and is charged to the connection as a whole. Thread: the connection's loop.
class MessageReader {
 public:
  enum class Step : std::uint8_t {
    kMore,      ///< all bytes were taken, and no message is whole
    kMessage,   ///< message() is whole, until the next call
    kBadFlag,   ///< the first byte is neither 0 nor 1; as the following ones, it is final
    kTooLarge,  ///< the message is announced with length() bytes, more than the limit
    kNoMemory,
  };

  /// Messages of up to `bytes_max` are taken. All others outlive it.
  MessageReader(std::uint32_t bytes_max, ConnectionMemory& memory, ChunkPool& chunks) noexcept
      : bytes_max_(bytes_max), memory_(memory), chunks_(chunks) {}
  MessageReader(const MessageReader&) = delete;
  MessageReader& operator=(const MessageReader&) = delete;
  ~MessageReader() { drop(); }

  /// Leaves room for `bytes` in front of each message that is put together. Call it before the first bytes.
  void set_headroom(std::size_t bytes) noexcept { headroom_ = bytes; }
  /// Takes bytes from the front of `data`, up to the end of one message.
  Step next(Bytes& data);
  Bytes message() const noexcept { return message_; }
  bool is_compressed() const noexcept { return prefix_[0] == std::byte{1}; }
  std::uint32_t length() const noexcept { return length_; }
  /// Chunk in which the message lies alone; empty if it lies elsewhere.
  const ChunkRef& chunk() const noexcept { return chunk_; }
  /// The headroom in front of the message; null if the message lies in the bytes that were given to next().
  std::byte* headroom() const noexcept { return buffer_; }
  /// The bytes that were given to next() end: copies the message. Returns false when memory is exhausted.
  bool keep_message();
  /// Returns true if a message has begun and is not whole.
  bool is_within_message() const noexcept { return prefix_bytes_ != 0; }
  /// Gives up the memory of the message, and of a part of one.
  void drop() noexcept;

 private:
  static constexpr std::size_t kPrefixBytes = 5;

  bool take_prefix(Bytes& data) noexcept;
  bool append(Bytes bytes);
  bool grow(std::size_t capacity);
  void free_buffer(std::byte* buffer, std::size_t capacity, bool in_chunk) const noexcept;

  const std::uint32_t bytes_max_;
  std::uint32_t length_ = 0;
  ConnectionMemory& memory_;
  ChunkPool& chunks_;
  std::size_t headroom_ = 0;
  Bytes message_;
  /// Memory in which a message is put together, behind the headroom: in chunk_ if that is not null.
  std::byte* buffer_ = nullptr;
  ChunkRef chunk_;
  std::size_t capacity_ = 0;
  std::size_t arrived_ = 0;
  /// Size of that memory.
  std::size_t charged_ = 0;
  std::array<std::byte, kPrefixBytes> prefix_{};
  std::uint8_t prefix_bytes_ = 0;
};

}  // namespace weft::detail::grpc
