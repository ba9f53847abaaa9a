// SPDX-License-Identifier: Apache-2.0
// EXPECT: weft cannot encode this type: it has a unique_ptr to a class with virtual functions
#include <memory>

#include "weft/server.hpp"

class Shape {
 public:
  virtual ~Shape() = default;
};

#ifdef WEFT_COMPILE_FAIL_CONTROL
using Given = std::unique_ptr<int>;
#else
using Given = std::unique_ptr<Shape>;
#endif

int handler(Given given);

void serve(weft::Server& server) {
  server.register_handler<handler>();
}
