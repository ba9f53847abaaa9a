// SPDX-License-Identifier: Apache-2.0
// EXPECT: weft cannot make this call: an argument does not convert to its parameter
#include "weft/fleet.hpp"

int add(int a, int b);

void call(weft::FleetClient& fleet) {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  auto sum = fleet.call<add>(1, 2);
  auto later = weft::on_loop_of(fleet).call_all<add>({.call = {.idempotent = true}}, 1, 2);
#else
  auto sum = fleet.call<add>(1, "2");
#endif
}
