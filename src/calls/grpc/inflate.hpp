// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "calls/grpc/connection_memory.hpp"
#include "calls/terms/refusals.hpp"
#include "weft/detail/base/bytes.hpp"

namespace weft::detail::grpc {

/// A message whose compression has been removed, in memory that is charged to the connection as it grows.
/// Thread: the connection's loop.
class InflatedMessage {
 public:
  /// `memory` outlives it.
  explicit InflatedMessage(ConnectionMemory& memory) noexcept : memory_(memory) {}
  InflatedMessage(const InflatedMessage&) = delete;
  InflatedMessage& operator=(const InflatedMessage&) = delete;
  ~InflatedMessage() { drop(); }

  /// Replaces the message by the bytes that `compressed` stands for, in the format gzip. Nothing is written
  /// beyond `bytes_max`. Returns a refusal with kInternal for bytes that are not gzip, and with
  /// kResourceExhausted for a message over the limit or without memory; the message is empty then. Throws
  /// std::bad_alloc.
  std::optional<Refusal> inflate(Bytes compressed, std::size_t bytes_max);
  Bytes bytes() const noexcept { return bytes_; }
  /// Gives up the message and its memory.
  void drop() noexcept;

 private:
  std::optional<Refusal> fill(Bytes compressed, std::size_t bytes_max);
  /// Returns false if the connection has no memory for `size` bytes.
  bool grow(std::size_t size);

  ConnectionMemory& memory_;
  std::vector<std::byte> bytes_;
  std::size_t charged_ = 0;
};

}  // namespace weft::detail::grpc
