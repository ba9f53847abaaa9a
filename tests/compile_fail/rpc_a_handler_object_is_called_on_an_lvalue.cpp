// SPDX-License-Identifier: Apache-2.0
// EXPECT: weft cannot serve or call this function: it is volatile, is called on an rvalue
#include "weft/server.hpp"

struct Twice {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  int operator()(int number) & { return 2 * number; }
#else
  int operator()(int number) && { return 2 * number; }
#endif
};

void serve(weft::Server& server) {
  server.register_handler("twice", Twice{});
}
