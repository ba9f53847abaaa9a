// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace weft::detail {

/// Says whether an attachment that is on its way gets on. Thread: one.
class GettingOn {
 public:
  /// It is looked at from now on; its connection has received so many bytes.
  void begin(std::uint64_t received_by_connection) noexcept { of_connection_ = received_by_connection; }
  /// True when the attachment of `bytes`, of which `received` are there, has got on since this was asked
  /// last: by 64 KiB, or a 1024th part if that is more. True also when its connection has, by 64 KiB: a piece
  /// is under way, or it is another's turn. That is good for a while only, so that nobody keeps memory for
  /// ever by sending a little for something else.
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
