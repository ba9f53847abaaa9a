// SPDX-License-Identifier: Apache-2.0
// EXPECT: a spawned task owns its arguments
#include <string>
#include <string_view>

#include "weft/detail/coro/scope.hpp"

void start(weft::Scope& scope, std::string_view text) {
  auto work = [](std::string_view) -> weft::Task<void> { co_return; };
#ifdef WEFT_COMPILE_FAIL_CONTROL
  scope.spawn(work, std::string{text});
#else
  scope.spawn(work, text);
#endif
}
