// SPDX-License-Identifier: Apache-2.0
// EXPECT: weft cannot encode this type: it has a union
#include <cstdint>

#include "weft/server.hpp"

struct Given {
  int kind;
#ifdef WEFT_COMPILE_FAIL_CONTROL
  int whole;
#else
  union {
    int whole;
    float part;
  };
#endif
};

int handler(Given value);

void serve(weft::Server& server) {
  server.register_handler<handler>();
}
