// SPDX-License-Identifier: Apache-2.0
#include "calls/terms/id_table.hpp"

#include <sys/random.h>

#include <random>

namespace weft::detail {

std::uint64_t new_table_secret() {
  // Asks the kernel first: a random_device queries the processor's features, which a virtual machine's host
  // emulates slowly.
  std::uint64_t secret = 0;
  if (::getrandom(&secret, sizeof secret, GRND_NONBLOCK) == sizeof secret) return secret | 1;
  std::random_device source;
  const std::uint64_t high = source();
  return high << 32 | source() | 1;
}

}  // namespace weft::detail
