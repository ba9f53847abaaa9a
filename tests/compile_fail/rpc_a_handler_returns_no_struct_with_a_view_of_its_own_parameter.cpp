// SPDX-License-Identifier: Apache-2.0
// EXPECT: it returns a view, or a type that holds one, and a parameter
#include <string>
#include <string_view>
#include <vector>

#include "weft/server.hpp"

struct Name {
  std::string_view first;
  int length = 0;
};

#ifdef WEFT_COMPILE_FAIL_CONTROL
Name first_name(std::string_view whole);
Name longest(const std::vector<std::string>& names);
#else
Name first_name(std::string whole);
Name longest(const std::vector<std::string>& names);
#endif

void serve(weft::Server& server) {
  server.register_handler<first_name, longest>();
}
