// SPDX-License-Identifier: Apache-2.0
// EXPECT: a parameter is a non-const reference
#include "weft/server.hpp"

#ifdef WEFT_COMPILE_FAIL_CONTROL
int handler(const int& number);
#else
int handler(int& number);
#endif

void serve(weft::Server& server) {
  server.register_handler<handler>();
}
