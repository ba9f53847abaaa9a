// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/base/assert.hpp"

#include <cstdio>
#include <cstdlib>

#include "weft/detail/base/result.hpp"

namespace weft::detail {

void assertion_failed(const char* what, const char* why, const char* file, int line) noexcept {
  std::fprintf(stderr, "%s:%d: weft: %s (%s)\n", file, line, why, what);
  std::abort();
}

void value_of_failure(const Status& failure) noexcept {
  std::fprintf(stderr, "weft: value() of a failed Result: %s\n", failure.to_string().c_str());
  std::abort();
}

}  // namespace weft::detail
