// SPDX-License-Identifier: Apache-2.0
// EXPECT: weft cannot serve or call this: it is no function
#include "weft/client.hpp"

weft::Task<void> ask(weft::Client& client) {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  auto answer = co_await client.call<weft::remote<"twice", int(int)>>(1);
#else
  auto answer = co_await client.call<[](int number) { return 2 * number; }>(1);
#endif
  static_cast<void>(answer);
}
