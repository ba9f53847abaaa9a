// SPDX-License-Identifier: Apache-2.0
// EXPECT: weft cannot make this call: the function is a stream
#include "weft/client.hpp"

#ifdef WEFT_COMPILE_FAIL_CONTROL
int watch(int count);
#else
weft::Stream<int> watch(int count);
#endif

void call(weft::Client& client) {
  auto started = client.start<watch>(3);
}
