// SPDX-License-Identifier: Apache-2.0
#include "calls/id_table.hpp"

#include <random>

namespace weft::detail {

std::uint64_t new_table_secret() {
  std::random_device source;
  const std::uint64_t high = source();
  return high << 32 | source() | 1;
}

}  // namespace weft::detail
