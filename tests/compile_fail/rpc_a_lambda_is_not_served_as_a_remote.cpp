// SPDX-License-Identifier: Apache-2.0
// EXPECT: and a lambda with its name
#include "weft/server.hpp"

void fill(weft::Server& server) {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  server.register_handler("twice", [](int number) { return 2 * number; });
#else
  server.register_handler<weft::remote<"twice", int(int)>>([](int number) { return 2 * number; });
#endif
}
