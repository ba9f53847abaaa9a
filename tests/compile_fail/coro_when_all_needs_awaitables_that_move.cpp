// SPDX-License-Identifier: Apache-2.0
// EXPECT: weft cannot take this awaitable over, because it does not move
#include "weft/detail/coro/combine.hpp"

struct Here {
  Here() = default;
#ifdef WEFT_COMPILE_FAIL_CONTROL
  Here(Here&&) = default;
#else
  Here(Here&&) = delete;
#endif
  bool await_ready() const { return true; }
  void await_suspend(std::coroutine_handle<>) const {}
  int await_resume() const { return 1; }
};

weft::Task<int> both() {
  auto [a, b] = co_await weft::when_all(Here{}, Here{});
  co_return a + b;
}
