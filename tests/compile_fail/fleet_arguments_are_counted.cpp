// SPDX-License-Identifier: Apache-2.0
// EXPECT: weft cannot make this call: it has too few or too many arguments
#include "weft/fleet.hpp"

int add(int a, int b);

void call(weft::FleetClient& fleet) {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  auto sum = weft::blocking(fleet).call_quorum<add>(2, 1, 2);
#else
  auto sum = weft::blocking(fleet).call_quorum<add>(2, 1);
#endif
}
