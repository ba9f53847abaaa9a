// SPDX-License-Identifier: Apache-2.0
// EXPECT: (Given = 1; Wanted = 2|'2UL == 1UL')
#include "weft/client.hpp"

int add(int a, int b);

void ask(weft::Client& client) {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  auto call = client.start<add>(1, 2);
#else
  auto call = client.start<add>(1);
#endif
}
