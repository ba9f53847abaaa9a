// SPDX-License-Identifier: Apache-2.0
// EXPECT: it returns a view, or a type that holds one, and a parameter
#include <string>
#include <string_view>
#include <vector>

#include "weft/server.hpp"

#ifdef WEFT_COMPILE_FAIL_CONTROL
weft::Task<weft::Result<std::vector<std::string_view>>> words(std::string_view text);
#else
weft::Task<weft::Result<std::vector<std::string_view>>> words(std::string text);
#endif

void serve(weft::Server& server) {
  server.register_handler<words>();
}
