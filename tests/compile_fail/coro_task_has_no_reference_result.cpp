// SPDX-License-Identifier: Apache-2.0
// EXPECT: a Task's result is void or a movable value
#include "weft/detail/coro/task.hpp"

#ifdef WEFT_COMPILE_FAIL_CONTROL
weft::Task<int*> find(int* where) {
  co_return where;
}
#else
weft::Task<int&> find(int* where) {
  co_return *where;
}
#endif
