// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/wire/crc32c.hpp"

#include <array>
#include <cstddef>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace weft::detail::wire {

namespace {

constexpr std::uint32_t kReflectedPolynomial = 0x82F63B78;

using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

// tables[n][b] is what byte b does to the register when n more bytes follow it in the same step of eight.
constexpr Tables make_tables() {
  Tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? kReflectedPolynomial : 0);
    tables[0][byte] = value;
  }
  for (std::size_t table = 1; table < 8; ++table) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = tables[table - 1][byte];
      tables[table][byte] = (before >> 8) ^ tables[0][before & 0xFF];
    }
  }
  return tables;
}

constexpr Tables kTables = make_tables();

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t by_instruction(const std::byte* at, std::size_t size,
                                                               std::uint32_t so_far) noexcept {
  std::uint64_t state = ~so_far;
  for (; size >= 8; at += 8, size -= 8) state = _mm_crc32_u64(state, load_le<std::uint64_t>(at));
  auto rest = static_cast<std::uint32_t>(state);
  for (; size > 0; ++at, --size) rest = _mm_crc32_u8(rest, std::to_integer<std::uint8_t>(*at));
  return ~rest;
}
#endif

}  // namespace

std::uint32_t crc32c_by_tables(Bytes bytes, std::uint32_t so_far) noexcept {
  const std::byte* at = bytes.data();
  std::size_t size = bytes.size();
  std::uint32_t state = ~so_far;
  for (; size >= 8; at += 8, size -= 8) {
    const std::uint64_t word = load_le<std::uint64_t>(at) ^ state;
    state = 0;
    for (std::size_t byte = 0; byte < 8; ++byte) state ^= kTables[7 - byte][(word >> (8 * byte)) & 0xFF];
  }
  for (; size > 0; ++at, --size) {
    state = (state >> 8) ^ kTables[0][(state ^ std::to_integer<std::uint32_t>(*at)) & 0xFF];
  }
  return ~state;
}

std::uint32_t crc32c(Bytes bytes, std::uint32_t so_far) noexcept {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) return by_instruction(bytes.data(), bytes.size(), so_far);
#endif
  return crc32c_by_tables(bytes, so_far);
}

}  // namespace weft::detail::wire
