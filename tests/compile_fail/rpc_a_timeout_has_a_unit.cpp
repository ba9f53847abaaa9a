// SPDX-License-Identifier: Apache-2.0
// LATER: a number does not convert to a std::chrono::duration, so no overload takes these braces
// EXPECT: no matching (member )?function for call to
#include <chrono>

#include "weft/client.hpp"

int twice(int number);

weft::Task<int> ask(weft::Client& client) {
  using namespace std::chrono_literals;
#ifdef WEFT_COMPILE_FAIL_CONTROL
  auto answer = co_await client.call<twice>({.timeout = 5s}, 1);
#else
  auto answer = co_await client.call<twice>({.timeout = 5}, 1);
#endif
  co_return answer.ok() ? 1 : 0;
}
