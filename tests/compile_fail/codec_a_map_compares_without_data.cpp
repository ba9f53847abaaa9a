// SPDX-License-Identifier: Apache-2.0
// EXPECT: weft cannot decode this type: it has a map or set whose comparison or hash is a function pointer
#include <functional>
#include <map>

#include "weft/server.hpp"

#ifdef WEFT_COMPILE_FAIL_CONTROL
using Given = std::map<int, int, std::greater<>>;
#else
using Given = std::map<int, int, bool (*)(int, int)>;
#endif

int handler(Given value);

void serve(weft::Server& server) {
  server.register_handler<handler>();
}
