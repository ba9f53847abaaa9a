// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/base/random_numbers.hpp"

#include <sys/random.h>

#include "weft/detail/base/time.hpp"

namespace weft::detail {

RandomNumbers RandomNumbers::of_system() noexcept {
  std::uint64_t seed = 0;
  // A machine that has just booted may not have any yet, and is not waited for.
  if (::getrandom(&seed, sizeof seed, GRND_NONBLOCK) != sizeof seed) {
    seed = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()) ^
           reinterpret_cast<std::uintptr_t>(&seed);
  }
  return RandomNumbers{seed};
}

}  // namespace weft::detail
