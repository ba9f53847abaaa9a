// SPDX-License-Identifier: Apache-2.0
// EXPECT: weft cannot open this stream: it would belong to one connection
#include "fleets.weft.hpp"
#include "weft/client.hpp"
#include "weft/protobuf_fleet.hpp"

void count(weft::FleetClient& fleet, weft::Client& client, const weft::golden::fleets::Number& number) {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  static_cast<void>(fleet);
  auto stream = weft::golden::fleets::NumbersStub{client}.Count(number);
#else
  static_cast<void>(client);
  weft::golden::fleets::NumbersFleetStub{fleet}.Count(number);
#endif
}
