// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

// Tests are compiled without optimisation, where a loop over 64 MiB takes seconds. So these leave nearly all
// of it to the C library.
namespace weft::testing {

/// Bytes that tell where they belong: no two places near each other look alike, nor two whose distance is a
/// round number.
inline std::vector<std::byte> pattern(std::size_t size, std::uint32_t seed = 1) {
  constexpr std::size_t kPeriod = 65'521;
  std::vector<std::byte> bytes(size);
  std::uint32_t state = seed * 2654435761u + 1;
  const std::size_t made = std::min(size, kPeriod);
  for (std::byte& byte : std::span{bytes}.first(made)) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<std::byte>(state >> 24);
  }
  for (std::size_t at = made; at < size; at += made) {
    std::memcpy(bytes.data() + at, bytes.data(), std::min(made, size - at));
  }
  return bytes;
}

inline bool same_bytes(std::span<const std::byte> one, std::span<const std::byte> other) {
  return one.size() == other.size() &&
         (one.empty() || std::memcmp(one.data(), other.data(), one.size()) == 0);
}

/// True of no bytes at all, too.
inline bool all_are(std::span<const std::byte> bytes, std::byte value) {
  // Each is the one before it.
  return bytes.empty() ||
         (bytes.front() == value && same_bytes(bytes.subspan(1), bytes.first(bytes.size() - 1)));
}

}  // namespace weft::testing
