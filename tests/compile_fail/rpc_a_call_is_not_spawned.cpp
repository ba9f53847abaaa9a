// SPDX-License-Identifier: Apache-2.0
// EXPECT: a scope spawns a function with its arguments, not a Task or a call
#include "weft/client.hpp"
#include "weft/detail/coro/scope.hpp"

int twice(int number);

weft::Task<void> ask(weft::Client* client, int number) {
  auto answer = co_await client->call<twice>(number);
}

void start(weft::Scope& scope, weft::Client& client, int number) {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  scope.spawn(&ask, &client, number);
#else
  scope.spawn(client.call<twice>(number));
#endif
}
