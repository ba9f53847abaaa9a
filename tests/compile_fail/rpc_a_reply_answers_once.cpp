// SPDX-License-Identifier: Apache-2.0
// EXPECT: (discards qualifiers|passing .* as .this. argument|no matching function|call to object of
// type|expects an rvalue)
#include "weft/rpc/reply.hpp"

void handler(weft::Reply<int> reply) {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  std::move(reply)(1);
#else
  reply(1);
#endif
}
