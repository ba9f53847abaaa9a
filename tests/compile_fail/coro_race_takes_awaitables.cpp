// SPDX-License-Identifier: Apache-2.0
// LATER: no overload takes what is no awaitable, and the reason follows as a note
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
