// SPDX-License-Identifier: Apache-2.0
// EXPECT: only a function stands in angle brackets: register_handler<function>
#include "weft/server.hpp"

int twice(int number);

void fill(weft::Server& server) {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  server.register_handler<twice>();
#else
  server.register_handler(twice);
#endif
}
