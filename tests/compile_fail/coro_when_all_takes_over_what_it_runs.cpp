// SPDX-License-Identifier: Apache-2.0
// EXPECT: weft takes over what it is to wait for: say std::move
#include "weft/detail/coro/combine.hpp"

weft::Task<int> both(weft::Task<int> one, weft::Task<int> other) {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  auto [a, b] = co_await weft::when_all(std::move(one), std::move(other));
#else
  auto [a, b] = co_await weft::when_all(std::move(one), other);
#endif
  co_return a + b;
}
