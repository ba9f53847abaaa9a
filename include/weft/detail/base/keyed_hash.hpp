// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "weft/detail/base/bytes.hpp"

namespace weft::detail {

/// Hash of bytes under a secret: who does not know it finds no two inputs of one hash sooner than by trying.
/// For keys that peers choose. Source: SipHash-2-4 (Aumasson, Bernstein: SipHash, a fast short-input PRF,
/// 2012).
class KeyedHash {
 public:
  KeyedHash(std::uint64_t secret_low, std::uint64_t secret_high) noexcept
      : low_(secret_low), high_(secret_high) {}
  /// Returns a hash with a random secret from the system.
  static KeyedHash of_system() noexcept;

  std::uint64_t operator()(Bytes bytes) const noexcept;

 private:
  std::uint64_t low_;
  std::uint64_t high_;
};

}  // namespace weft::detail
