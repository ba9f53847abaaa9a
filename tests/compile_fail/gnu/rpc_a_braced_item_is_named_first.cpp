// SPDX-License-Identifier: Apache-2.0
// EXPECT: g\+\+ 12 destroys an aggregate that owns memory twice
#include <string>

#include "weft/server.hpp"

struct Line {
  std::string text;
  int number = 0;
};

weft::Task<void> print(weft::Writer<Line>& lines) {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  const Line line{.text = "first", .number = 1};
  const bool taken = co_await lines.write(line);
#else
  const bool taken = co_await lines.write({.text = "first", .number = 1});
#endif
  static_cast<void>(taken);
}
