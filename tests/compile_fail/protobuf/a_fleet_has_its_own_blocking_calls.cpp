// SPDX-License-Identifier: Apache-2.0
// EXPECT: from .*BlockingFleet.* to .*BlockingCaller
#include "weft/protobuf_fleet.hpp"
#include "weft/weft.hpp"

void call(weft::FleetClient& fleet) {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  [[maybe_unused]] weft::BlockingFleet blocking = weft::blocking(fleet);
  [[maybe_unused]] weft::LoopFleet there = weft::on_loop_of(fleet);
#else
  [[maybe_unused]] weft::BlockingCaller blocking = weft::blocking(fleet);
#endif
}
