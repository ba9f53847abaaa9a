// SPDX-License-Identifier: Apache-2.0
// EXPECT: a spawned function returns Task<void>
#include "weft/detail/coro/scope.hpp"

void start(weft::Scope& scope) {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  scope.spawn([]() -> weft::Task<void> { co_return; });
#else
  scope.spawn([]() -> weft::Task<int> { co_return 1; });
#endif
}
