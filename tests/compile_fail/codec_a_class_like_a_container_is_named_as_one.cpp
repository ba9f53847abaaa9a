// SPDX-License-Identifier: Apache-2.0
// EXPECT: weft cannot encode this type: it has a class of a container's shape
#include <cstddef>
#include <vector>

#include "weft/server.hpp"

#ifdef WEFT_COMPILE_FAIL_CONTROL
using Given = std::vector<int>;
#else
class Given {
 public:
  using value_type = int;
  std::size_t size() const;
  const int* begin() const;
  const int* end() const;
  void push_back(int value);
  void clear();

 private:
  std::vector<int> elements_;
  int revision_ = 0;
};
#endif

int handler(Given value);

void serve(weft::Server& server) {
  server.register_handler<handler>();
}
