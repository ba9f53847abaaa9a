// SPDX-License-Identifier: Apache-2.0
// EXPECT: weft cannot serve this handler: one with a Reader<T>& or a Writer<T>& waits for its caller, so
#include "weft/server.hpp"

#ifdef WEFT_COMPILE_FAIL_CONTROL
weft::Task<int> handler(weft::Reader<int>& numbers);
#else
int handler(weft::Reader<int>& numbers);
#endif

void serve(weft::Server& server) {
  server.register_handler<handler>();
}
