// SPDX-License-Identifier: Apache-2.0
// EXPECT: a co_await is missing
#include "weft/client.hpp"

int twice(int number);

weft::Task<int> ask(weft::Client& client) {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  weft::Result<int> answer = co_await client.start<twice>(1);
#else
  weft::Result<int> answer = client.start<twice>(1);
#endif
  co_return answer.ok() ? 1 : 0;
}
