// SPDX-License-Identifier: Apache-2.0
// EXPECT: a co_await is missing
#include "weft/client.hpp"

weft::Stream<int> numbers();

weft::Task<int> ask(weft::Client& client) {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  auto stream = client.open<numbers>();
  while (auto item = co_await stream.next()) co_return *item;
#else
  auto stream = client.open<numbers>();
  while (auto item = stream.next()) co_return 1;
#endif
  co_return 0;
}
