// SPDX-License-Identifier: Apache-2.0
// EXPECT: (ignoring returned value|ignoring return value|discarding)
#include "weft/fleet.hpp"

int twice(int number);

void ask(weft::FleetClient& fleet) {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  auto call = fleet.call<twice>(21).with_attachment();
#else
  fleet.call<twice>(21).with_attachment();
#endif
}
