// SPDX-License-Identifier: Apache-2.0
// EXPECT: (use of deleted function .*operator co_await|selected deleted operator 'co_await')
#include "weft/detail/coro/task.hpp"

weft::Task<int> work();

weft::Task<int> twice() {
  weft::Task<int> task = work();
#ifdef WEFT_COMPILE_FAIL_CONTROL
  int result = co_await std::move(task);
#else
  int result = co_await task;
#endif
  co_return result;
}
