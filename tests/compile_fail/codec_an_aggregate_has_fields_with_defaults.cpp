// SPDX-License-Identifier: Apache-2.0
// EXPECT: weft cannot encode this type: it has an aggregate with a field that has no default constructor

#include "weft/server.hpp"

class Id {
 public:
#ifdef WEFT_COMPILE_FAIL_CONTROL
  int value = 0;
#else
  explicit Id(int value) : value_(value) {}

 private:
  int value_;
#endif
};
struct Given {
  int amount;
  Id to;
};

int handler(Given value);

void serve(weft::Server& server) {
  server.register_handler<handler>();
}
