// SPDX-License-Identifier: Apache-2.0
// EXPECT: \A(?s:(?!error:).)*error: static assertion failed[^\n]*weft cannot encode this type
#include "weft/server.hpp"

class Closed {
#ifdef WEFT_COMPILE_FAIL_CONTROL
 public:
#else
 private:
#endif
  int number_ = 0;
};

int handler(Closed value);

void serve(weft::Server& server) {
  server.register_handler<handler>();
}
