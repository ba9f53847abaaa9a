// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/base/assert.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "weft/detail/base/result.hpp"

namespace weft::detail {

void assertion_failed(const char* why, const char* file, int line) noexcept {
  while (std::strncmp(file, "../", 3) == 0) file += 3;  // the way from the build directory
  std::fprintf(stderr, "weft: %s (%s:%d)\n", why, file, line);
  std::abort();
}

void value_of_failure(const Status& failure) noexcept {
  std::fprintf(stderr, "weft: value() of a failed Result: %s\n", failure.to_string().c_str());
  std::abort();
}

}  // namespace weft::detail
