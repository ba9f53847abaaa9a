// SPDX-License-Identifier: Apache-2.0
// EXPECT: g\+\+ 12 destroys an aggregate that owns memory twice
#include <string>

#include "weft/client.hpp"

struct Payment {
  std::string to;
  int amount = 0;
};
void pay(const Payment& payment);

weft::Task<void> ask(weft::Client& client) {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  const Payment payment{.to = "a name", .amount = 5};
  auto paid = co_await client.call<pay>(payment);
#else
  auto paid = co_await client.call<pay>(Payment{.to = "a name", .amount = 5});
#endif
  static_cast<void>(paid);
}
