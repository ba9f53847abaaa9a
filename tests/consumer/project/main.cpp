// SPDX-License-Identifier: Apache-2.0
// What a stranger's first program may look like: it must build with nothing but what was installed.
#include <cstdio>

#include "weft/base/result.hpp"

int main() {
  const weft::Result<int> result = 42;
  std::printf("consumer: %d\n", *result);
  return *result == 42 ? 0 : 1;
}
