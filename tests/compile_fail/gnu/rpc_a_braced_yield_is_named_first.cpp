// SPDX-License-Identifier: Apache-2.0
// EXPECT: g\+\+ 12 destroys an aggregate that owns memory twice
#include <string>

#include "weft/streams.hpp"

struct Line {
  std::string text;
  int number = 0;
};

weft::Stream<Line> print() {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  const Line line{.text = "first", .number = 1};
  co_yield line;
#else
  co_yield Line{.text = "first", .number = 1};
#endif
}
