// SPDX-License-Identifier: Apache-2.0
// EXPECT: a fleet's options are FleetCallOptions: \{.call = \{.timeout = ...\}\}
#include "weft/fleet.hpp"

int add(int a, int b);

void call(weft::FleetClient& fleet) {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  auto sum = fleet.call<add>({.call = {.timeout = std::chrono::seconds{1}}}, 1, 2);
#else
  fleet.call<add>({.timeout = std::chrono::seconds{1}}, 1, 2);
#endif
}
