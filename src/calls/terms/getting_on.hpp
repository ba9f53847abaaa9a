// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace weft::detail {

/// Decides whether an arriving attachment makes progress. Thread: one.
class GettingOn {
 public:
  /// Begins to observe the attachment; its connection has received this many bytes.
  void begin(std::uint64_t received_by_connection) noexcept { of_connection_ = received_by_connection; }
  /// Returns true if an attachment of `bytes`, with `received` arrived, has made progress since the last
  /// call: 64 KiB, or a 1024th part if that is more. Also true if its connection has made progress by 64 KiB,
  /// because a piece is under way or another attachment has its turn. That is accepted a limited number of
  /// times only, so that a peer cannot hold memory forever by slowly sending something else.
  bool look(std::size_t received, std::size_t bytes, std::uint64_t received_by_connection) noexcept {
    const bool itself = received - of_attachment_ >= std::max(kStepBytes, bytes / kStepsMax);
    const bool connection = received_by_connection - of_connection_ >= kStepBytes;
    if (itself) of_attachment_ = received;
    of_connection_ = received_by_connection;
    return itself || (connection && ++waits_ <= kStepsMax);
  }

 private:
  static constexpr std::size_t kStepBytes = 64 * 1024;
  static constexpr std::size_t kStepsMax = 1024;

  std::size_t of_attachment_ = 0;
  std::uint64_t of_connection_ = 0;
  /// Number of times that only its connection got on.
  std::uint32_t waits_ = 0;
};

}  // namespace weft::detail
