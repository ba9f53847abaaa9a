// SPDX-License-Identifier: Apache-2.0
// EXPECT: (use of deleted function .*operator co_await|selected deleted operator 'co_await')
#include "weft/client.hpp"

int twice(int number);

weft::Task<int> ask(weft::Client& client) {
  weft::Call<int> call = client.start<twice>(21);
#ifdef WEFT_COMPILE_FAIL_CONTROL
  auto answer = co_await std::move(call);
#else
  auto answer = co_await call;
#endif
  co_return answer.value();
}
