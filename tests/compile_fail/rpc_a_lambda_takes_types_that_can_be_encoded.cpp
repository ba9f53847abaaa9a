// SPDX-License-Identifier: Apache-2.0
// EXPECT: weft cannot encode this type: it has a class that is not an aggregate
#include "weft/server.hpp"

class Money {
 public:
  int cents() const { return cents_; }

 private:
  int cents_ = 0;
};

void serve(weft::Server& server) {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  server.register_handler("pay", [](int cents) { return cents; });
#else
  server.register_handler("pay", [](const Money& money) { return money.cents(); });
#endif
}
