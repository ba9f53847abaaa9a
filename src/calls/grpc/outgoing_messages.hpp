// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "calls/grpc/connection_memory.hpp"
#include "weft/detail/base/bytes.hpp"

namespace weft::detail::grpc {

/// Messages of one stream that wait for the peer's window or for room in the connection, each with its
/// prefix: see MessageReader. A message lies in one block, which is charged to the connection when it is
/// queued. Thread: the connection's loop.
class OutgoingMessages {
 public:
  /// A message that is being written, and is not queued yet.
  struct Block;

  explicit OutgoingMessages(ConnectionMemory& memory) noexcept : memory_(memory) {}
  OutgoingMessages(const OutgoingMessages&) = delete;
  OutgoingMessages& operator=(const OutgoingMessages&) = delete;
  ~OutgoingMessages() { clear(); }

  /// Returns a block with room for a message of `bytes`; null when the system has no memory.
  static Block* make(std::size_t bytes) noexcept;
  static std::byte* body_of(Block& block) noexcept;
  static void free(Block* block) noexcept;

  /// Queues the message, which counts with `cost` in left(). Returns false, and frees the block, when there
  /// is no memory for it.
  bool push(Block* block, std::uint64_t cost);
  /// Queues `text` without a prefix.
  bool push_text(std::string_view text);

  bool empty() const noexcept { return first_ == nullptr; }
  /// Returns the number of queued bytes, prefixes counted.
  std::size_t bytes() const noexcept { return bytes_; }
  /// Returns the first bytes, at most `bytes_max` of them, that lie in one block.
  Bytes front(std::size_t bytes_max) const noexcept;
  /// The first `bytes`, of front(), have left.
  void pop(std::size_t bytes) noexcept;
  /// Returns the sum of the costs of messages that have left as a whole.
  std::uint64_t left() const noexcept { return left_; }
  void clear() noexcept;

 private:
  void append(Block* block) noexcept;

  ConnectionMemory& memory_;
  Block* first_ = nullptr;
  Block* last_ = nullptr;
  std::size_t bytes_ = 0;
  std::uint64_t left_ = 0;
};

}  // namespace weft::detail::grpc
