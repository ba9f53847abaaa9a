// SPDX-License-Identifier: Apache-2.0
// EXPECT: weft cannot serve this handler: it takes its items as one Reader<T>&
#include "weft/server.hpp"

#ifdef WEFT_COMPILE_FAIL_CONTROL
weft::Task<int> handler(weft::Reader<int>& numbers, int factor);
#else
weft::Task<int> handler(int factor, weft::Reader<int>& numbers);
#endif

void serve(weft::Server& server) {
  server.register_handler<handler>();
}
