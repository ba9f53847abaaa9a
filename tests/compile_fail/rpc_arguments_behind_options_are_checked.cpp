// SPDX-License-Identifier: Apache-2.0
// EXPECT: (Number = 2; Parameter = std::vector<double>; Given = int|<2UL, std::vector<double>, int>)
#include <vector>

#include "weft/client.hpp"

double mean(int places, std::vector<double> values);

weft::Task<void> ask(weft::Client& client, std::vector<double> values) {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  auto answer = co_await client.call<mean>({.timeout = weft::Duration{1}}, 1, std::move(values));
#else
  auto answer = co_await client.call<mean>({.timeout = weft::Duration{1}}, 1, 2);
#endif
}
