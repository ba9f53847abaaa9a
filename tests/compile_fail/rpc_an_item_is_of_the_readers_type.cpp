// SPDX-License-Identifier: Apache-2.0
// EXPECT: weft cannot write this item
#include <vector>

#include "weft/client.hpp"

weft::Task<int> upload(weft::Reader<std::vector<int>>& lists);

weft::Task<void> send(weft::StreamOf<upload>& stream) {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  const std::vector<int> list{1, 2};
#else
  const char* const list = "text";
#endif
  [[maybe_unused]] const bool written = co_await stream.write(list);
}
