// SPDX-License-Identifier: Apache-2.0
// EXPECT: weft cannot make this broadcast: the function is a stream
#include "weft/server.hpp"

#ifdef WEFT_COMPILE_FAIL_CONTROL
int watch(int count);
#else
weft::Stream<int> watch(int count);
#endif

void call(weft::Server& server) {
  auto outcome = server.peers().broadcast<watch>(3);
}
