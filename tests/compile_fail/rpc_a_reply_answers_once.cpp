// SPDX-License-Identifier: Apache-2.0
// LINES: 45
// EXPECT: (discards qualifiers|no match for call|no matching function|expects an rvalue)
#include "weft/detail/functions/reply.hpp"

void handler(weft::Reply<int> reply) {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  std::move(reply)(1);
#else
  reply(1);
#endif
}
