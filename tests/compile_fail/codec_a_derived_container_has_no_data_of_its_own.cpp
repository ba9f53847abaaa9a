// SPDX-License-Identifier: Apache-2.0
// EXPECT: weft cannot encode this type: it has a class of a container's shape
#include <string>
#include <vector>

#include "weft/server.hpp"

#ifdef WEFT_COMPILE_FAIL_CONTROL
using Given = std::vector<std::string>;
#else
struct Given : std::vector<std::string> {
  int revision = 0;
};
#endif

int handler(Given value);

void serve(weft::Server& server) {
  server.register_handler<handler>();
}
