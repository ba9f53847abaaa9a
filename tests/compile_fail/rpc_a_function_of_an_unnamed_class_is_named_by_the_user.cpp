// SPDX-License-Identifier: Apache-2.0
// EXPECT: weft cannot name this function
#include "weft/server.hpp"

struct {
  int twice(int number) { return 2 * number; }
} unnamed;

void fill(weft::Server& server) {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  server.register_handler<weft::method<&decltype(unnamed)::twice, "twice">>(&unnamed);
#else
  server.register_handler<&decltype(unnamed)::twice>(&unnamed);
#endif
}
