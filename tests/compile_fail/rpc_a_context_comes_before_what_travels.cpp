// SPDX-License-Identifier: Apache-2.0
// EXPECT: it takes its context as CallContext&, before
#include "weft/server.hpp"

#ifdef WEFT_COMPILE_FAIL_CONTROL
int handler(weft::CallContext& context, int number);
#else
int handler(int number, weft::CallContext& context);
#endif

void serve(weft::Server& server) {
  server.register_handler<handler>();
}
