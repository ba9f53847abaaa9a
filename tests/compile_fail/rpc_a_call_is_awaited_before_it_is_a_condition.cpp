// SPDX-License-Identifier: Apache-2.0
// EXPECT: a co_await is missing
#include "weft/client.hpp"

int twice(int number);

weft::Task<int> ask(weft::Client& client) {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  if (auto doubled = co_await client.call<twice>(1)) co_return 1;
#else
  if (client.call<twice>(1)) co_return 1;
#endif
  co_return 0;
}
