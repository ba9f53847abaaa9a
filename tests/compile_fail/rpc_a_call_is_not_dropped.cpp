// SPDX-License-Identifier: Apache-2.0
// EXPECT: (ignoring returned value|ignoring return value|discarding)
#include "weft/client.hpp"

int twice(int number);

void ask(weft::Client& client) {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  auto call = client.start<twice>(21);
#else
  client.start<twice>(21);
#endif
}
