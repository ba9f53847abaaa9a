// SPDX-License-Identifier: Apache-2.0
// EXPECT: a spawned task owns its arguments
#include <string>
#include <string_view>
#include <vector>

#include "weft/detail/coro/scope.hpp"

#ifdef WEFT_COMPILE_FAIL_CONTROL
using Words = std::vector<std::string>;
#else
using Words = std::vector<std::string_view>;
#endif

void start(weft::Scope& scope, Words words) {
  scope.spawn([](Words) -> weft::Task<void> { co_return; }, std::move(words));
}
