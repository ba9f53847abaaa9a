// SPDX-License-Identifier: Apache-2.0
// EXPECT: (CallableWith|constraints not satisfied|no matching (member )?function)
#include "weft/rpc/client.hpp"

int add(int a, int b);

void ask(weft::RpcClient& client) {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  auto call = client.start<add>(1, 2);
#else
  auto call = client.start<add>(1);
#endif
}
