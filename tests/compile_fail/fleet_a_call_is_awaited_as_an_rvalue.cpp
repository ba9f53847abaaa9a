// SPDX-License-Identifier: Apache-2.0
// EXPECT: (use of deleted function .*operator co_await|selected deleted operator 'co_await')
#include "weft/fleet.hpp"

int twice(int number);

weft::Task<int> ask(weft::FleetClient& fleet) {
  auto call = fleet.call<twice>(21);
#ifdef WEFT_COMPILE_FAIL_CONTROL
  auto answer = co_await std::move(call);
#else
  auto answer = co_await call;
#endif
  co_return answer.value();
}
