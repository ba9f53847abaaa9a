// SPDX-License-Identifier: Apache-2.0
// EXPECT: weft cannot decode into this value: it is const, or holds views
#include <string>
#include <string_view>

#include "weft/client.hpp"

std::string name_of(int number);

weft::Task<void> ask(weft::Client& client) {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  std::string value;
#else
  std::string_view value;
#endif
  auto read = co_await client.call<name_of>(3).into(value);
}
