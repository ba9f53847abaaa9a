// SPDX-License-Identifier: Apache-2.0
// EXPECT: \A(?s:(?!error:).)*error: static assertion failed[^\n]*a result R of these kinds grows beside
// itself
#include <string>
#include <tuple>
#include <vector>

#include "weft/server.hpp"

struct Receipt {
  int number = 0;
#ifndef WEFT_COMPILE_FAIL_CONTROL
  weft::Compatible<std::string> note;
#endif
};

std::tuple<std::vector<Receipt>, weft::Compatible<std::vector<std::string>>> receipts(int customer);

void serve(weft::Server& server) {
  server.register_handler<receipts>();
}
