// SPDX-License-Identifier: Apache-2.0
// EXPECT: weft cannot encode this type: it has an aggregate with a bit-field
#include <cstdint>

#include "weft/server.hpp"

struct Given {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  std::uint8_t flags;
#else
  std::uint8_t flags : 3;
#endif
  std::uint8_t rest;
};

int handler(Given value);

void serve(weft::Server& server) {
  server.register_handler<handler>();
}
