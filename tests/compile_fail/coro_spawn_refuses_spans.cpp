// SPDX-License-Identifier: Apache-2.0
// EXPECT: a spawned task owns its arguments
#include <span>
#include <vector>

#include "weft/detail/coro/scope.hpp"

void start(weft::Scope& scope, std::vector<int>& numbers) {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  scope.spawn([](std::vector<int>) -> weft::Task<void> { co_return; }, numbers);
#else
  scope.spawn([](std::span<int>) -> weft::Task<void> { co_return; }, std::span<int>{numbers});
#endif
}
