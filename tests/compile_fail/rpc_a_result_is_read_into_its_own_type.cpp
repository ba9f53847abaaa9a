// SPDX-License-Identifier: Apache-2.0
// EXPECT: weft cannot decode into this value: its schema differs
#include <string>

#include "weft/client.hpp"

std::string name_of(int number);

weft::Task<void> ask(weft::Client& client) {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  std::string value;
#else
  int value = 0;
#endif
  auto read = co_await client.call<name_of>(3).into(value);
}
