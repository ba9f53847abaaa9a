// SPDX-License-Identifier: Apache-2.0
// EXPECT: (Number = 1; Parameter = int; Given = const char|ArgumentFits<1UL, int, const char)
#include "weft/client.hpp"

int twice(int number);

void ask(weft::Client& client) {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  auto call = client.start<twice>(21);
#else
  auto call = client.start<twice>("twenty-one");
#endif
}
