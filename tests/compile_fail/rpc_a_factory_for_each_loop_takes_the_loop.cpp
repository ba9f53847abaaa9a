// SPDX-License-Identifier: Apache-2.0
// EXPECT: weft cannot keep this for each loop
#include <weft/weft.hpp>

struct Cache {};

void keep(weft::Server& server) {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  server.per_loop<Cache>([](weft::Loop&) { return Cache{}; });
#else
  server.per_loop<Cache>([] { return Cache{}; });
#endif
}
