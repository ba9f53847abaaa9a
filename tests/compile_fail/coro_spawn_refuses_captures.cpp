// SPDX-License-Identifier: Apache-2.0
// EXPECT: a spawned function has no captures
#include "weft/detail/coro/scope.hpp"

void start(weft::Scope& scope, int number) {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  scope.spawn([](int) -> weft::Task<void> { co_return; }, number);
#else
  scope.spawn([number]() -> weft::Task<void> {
    static_cast<void>(number);
    co_return;
  });
#endif
}
