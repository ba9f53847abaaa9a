// SPDX-License-Identifier: Apache-2.0
// EXPECT: a co_await is missing
#include "weft/client.hpp"

weft::Task<int> sum(weft::Reader<int>& numbers);

weft::Task<int> ask(weft::Client& client) {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  auto stream = client.open<sum>();
  weft::Result<int> total = co_await stream.finish();
#else
  auto stream = client.open<sum>();
  weft::Result<int> total = stream.finish();
#endif
  co_return total.ok() ? 1 : 0;
}
