// SPDX-License-Identifier: Apache-2.0
// EXPECT: a spawned task owns its arguments
#include <functional>

#include "weft/detail/coro/scope.hpp"

void start(weft::Scope& scope, int& number) {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  scope.spawn([](int*) -> weft::Task<void> { co_return; }, &number);
#else
  scope.spawn([](int&) -> weft::Task<void> { co_return; }, std::ref(number));
#endif
}
