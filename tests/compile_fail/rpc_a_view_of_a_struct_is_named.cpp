// SPDX-License-Identifier: Apache-2.0
// EXPECT: weft knows no view of this function's result
#include <string>
#include <string_view>

#include "weft/client.hpp"

struct Person {
  std::string name;
  int age = 0;
};
struct PersonView {
  std::string_view name;
  int age = 0;
};
Person person(int number);

weft::Task<void> ask(weft::Client& client) {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  auto seen = co_await client.call<person>(3).view<PersonView>();
#else
  auto seen = co_await client.call<person>(3).view();
#endif
}
