// SPDX-License-Identifier: Apache-2.0
// EXPECT: weft cannot serve or call this function: it is volatile, is called on an rvalue
#include "weft/server.hpp"

struct Store {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  int take() & { return 1; }
#else
  int take() && { return 1; }
#endif
};

void serve(weft::Server& server, Store& store) {
  server.register_handler<&Store::take>(&store);
}
