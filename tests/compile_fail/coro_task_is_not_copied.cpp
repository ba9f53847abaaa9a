// SPDX-License-Identifier: Apache-2.0
// EXPECT: (use of deleted function|implicitly.deleted copy constructor)
#include "weft/detail/coro/task.hpp"

void share(weft::Task<int>& task) {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  weft::Task<int> other = std::move(task);
#else
  weft::Task<int> other = task;
#endif
}
