// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "weft/detail/base/bytes.hpp"

namespace weft::detail::wire {

/// CRC-32C (Castagnoli; RFC 3720, appendix B.4) of `bytes`. Give the result of an earlier call as `so_far` to
/// go on with it: crc32c(b, crc32c(a)) is the checksum of a followed by b. Uses the processor's instruction
/// where there is one.
std::uint32_t crc32c(Bytes bytes, std::uint32_t so_far = 0) noexcept;

/// The same by tables alone, for machines without the instruction, and for tests that compare the two.
std::uint32_t crc32c_by_tables(Bytes bytes, std::uint32_t so_far = 0) noexcept;

}  // namespace weft::detail::wire
