// SPDX-License-Identifier: Apache-2.0
// EXPECT: dropping a ClientStream cancels it
#include "weft/client.hpp"

weft::Stream<int> watch(int count);

void open(weft::Client& client) {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  auto stream = client.open<watch>(3);
#else
  client.open<watch>(3);
#endif
}
