// SPDX-License-Identifier: Apache-2.0
// EXPECT: (use of deleted function|implicitly.deleted copy constructor)
#include "weft/detail/functions/reply.hpp"

void handler(weft::Reply<int> reply) {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  weft::Reply<int> other = std::move(reply);
#else
  weft::Reply<int> other = reply;
#endif
}
