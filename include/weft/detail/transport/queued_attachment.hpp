// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/detail/base/bytes.hpp"

namespace weft::detail {

/// State of an attachment that is queued piece by piece: how far it is from a multiple of 8, its checksum,
/// and what follows it.
class QueuedAttachment {
 public:
  /// Padding to a multiple of 8 and the checksum behind it, wherever they begin.
  static constexpr std::size_t kEndBytesMax = 16;

  /// Attachments are followed by their checksum from now on.
  void use_checksums() noexcept { checksums_ = true; }
  bool has_checksums() const noexcept { return checksums_; }
  /// The next piece is `bytes`.
  void add(Bytes bytes) noexcept;
  /// Some bytes of it are queued, and its end is not.
  bool begun() const noexcept { return begun_; }
  /// Position in the byte stream modulo 8; not 0 only inside an attachment.
  std::size_t misalignment() const noexcept { return misalignment_; }
  /// Writes what follows it, if it has begun; returns where that ends. `to` has room for kEndBytesMax.
  std::byte* end(std::byte* to) noexcept;
  /// Nothing of it is queued any more.
  void drop() noexcept {
    checksum_ = 0;
    misalignment_ = 0;
    begun_ = false;
  }

 private:
  std::uint32_t checksum_ = 0;
  std::uint8_t misalignment_ = 0;
  bool checksums_ = false;
  bool begun_ = false;
};

}  // namespace weft::detail
