// SPDX-License-Identifier: Apache-2.0
// EXPECT: (passing|lvalue|rvalue|no member named 'await_ready'|discards qualifiers)
#include "weft/coro/task.hpp"

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
