// SPDX-License-Identifier: Apache-2.0
// EXPECT: weft cannot open this stream: the function has one answer
#include "weft/client.hpp"

#ifdef WEFT_COMPILE_FAIL_CONTROL
weft::Stream<int> watch(int count);
#else
int watch(int count);
#endif

void open(weft::Client& client) {
  auto opened = client.open<watch>(3);
}
