// SPDX-License-Identifier: Apache-2.0
// EXPECT: (ignoring returned value|ignoring return value|discarding)
#include "weft/detail/base/status.hpp"

weft::Status fallible();

void careless() {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  [[maybe_unused]] const weft::Status status = fallible();
#else
  fallible();
#endif
}
