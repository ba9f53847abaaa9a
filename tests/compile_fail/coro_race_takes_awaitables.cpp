// SPDX-License-Identifier: Apache-2.0
// LATER: overload resolution speaks first, and a note gives the reason
// EXPECT: (Awaitable|AwaitResult)
#include "weft/detail/coro/combine.hpp"

weft::Task<int> work();

weft::Task<void> first() {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  auto winner = co_await weft::race(work(), work());
#else
  auto winner = co_await weft::race(work, work);
#endif
}
