// SPDX-License-Identifier: Apache-2.0
// EXPECT: an object is given by its address
#include "weft/server.hpp"

struct Store {
  int get(int key);
};

void fill(weft::Server& server, Store& store) {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  server.register_handler<&Store::get>(&store);
#else
  server.register_handler<&Store::get>(store);
#endif
}
