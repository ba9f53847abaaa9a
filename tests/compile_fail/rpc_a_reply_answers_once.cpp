// SPDX-License-Identifier: Apache-2.0
// EXPECT: weft answers a call once, and this uses the Reply up
#include "weft/detail/functions/reply.hpp"

void handler(weft::Reply<int> reply) {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  std::move(reply)(1);
#else
  reply(1);
#endif
}
