// SPDX-License-Identifier: Apache-2.0
// EXPECT: Reply<R> is taken by value, as the first parameter
#include "weft/server.hpp"

#ifdef WEFT_COMPILE_FAIL_CONTROL
void handler(weft::Reply<int> reply, int number);
#else
int handler(weft::Reply<int> reply, int number);
#endif

void serve(weft::Server& server) {
  server.register_handler<handler>();
}
