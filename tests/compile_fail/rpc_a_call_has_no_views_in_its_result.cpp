// SPDX-License-Identifier: Apache-2.0
// EXPECT: its result holds views, and the answer that they would show is gone
#include <string>
#include <string_view>
#include <vector>

#include "weft/client.hpp"

std::vector<std::string_view> words(std::string_view text);

void ask(weft::Client& client) {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  auto call = client.start<weft::remote<"words", std::vector<std::string>(std::string_view)>>("a b");
#else
  auto call = client.start<words>("a b");
#endif
}
