// SPDX-License-Identifier: Apache-2.0
// EXPECT: it has a class that is not an aggregate
#include "weft/server.hpp"

struct Key {
#ifndef WEFT_COMPILE_FAIL_CONTROL
  Key();

 private:
#endif
  int number = 0;
};

weft::Task<int> handler(weft::Reader<Key>& keys);

void serve(weft::Server& server) {
  server.register_handler<handler>();
}
