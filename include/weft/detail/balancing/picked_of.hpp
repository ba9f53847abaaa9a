// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::detail {

/// Aborts the process with a message: a policy has picked an index outside its list.
[[noreturn]] void picked_nobody(std::uint32_t picked, std::size_t size) noexcept;

/// Returns `picked`, which a policy gave, perhaps a user's own, if it is of a list of `size` servers; else
/// ends the process with words.
inline std::uint32_t picked_of(std::uint32_t picked, std::size_t size) noexcept {
  if (picked >= size) [[unlikely]]
    picked_nobody(picked, size);
  return picked;
}

}  // namespace weft::detail
