// SPDX-License-Identifier: Apache-2.0
// EXPECT: a fleet chooses a server for each call; open it over a Client
#include "weft/fleet.hpp"

#ifdef WEFT_COMPILE_FAIL_CONTROL
int watch(int count);
#else
weft::Stream<int> watch(int count);
#endif

void call(weft::LoopFleet fleet) {
  auto called = fleet.call<watch>(3);
}
