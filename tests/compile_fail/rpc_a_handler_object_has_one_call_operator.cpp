// SPDX-License-Identifier: Apache-2.0
// EXPECT: it takes a lambda or an object with one function call
#include "weft/server.hpp"

void serve(weft::Server& server) {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  server.register_handler("twice", [](int number) { return 2 * number; });
#else
  server.register_handler("twice", [](auto number) { return 2 * number; });
#endif
}
