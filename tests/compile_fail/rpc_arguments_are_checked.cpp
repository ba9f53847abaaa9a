// SPDX-License-Identifier: Apache-2.0
// EXPECT: (CallableWith|constraints not satisfied|no matching (member )?function)
#include "weft/rpc/client.hpp"

int twice(int number);

void ask(weft::RpcClient& client) {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  auto call = client.start<twice>(21);
#else
  auto call = client.start<twice>("twenty-one");
#endif
}
