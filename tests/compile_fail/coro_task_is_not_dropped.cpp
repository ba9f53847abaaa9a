// SPDX-License-Identifier: Apache-2.0
// EXPECT: (ignoring returned value|ignoring return value|discarding)
#include "weft/detail/coro/task.hpp"

weft::Task<void> work();

weft::Task<void> careless() {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  co_await work();
#else
  work();
  co_return;
#endif
}
