// SPDX-License-Identifier: Apache-2.0
// EXPECT: temporary whose address is used
#include "weft/buffer.hpp"

weft::Buffer make();

std::size_t careless() {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  const weft::Buffer buffer = make();
  const weft::Bytes view = buffer.bytes();
#else
  const weft::Bytes view = make().bytes();
#endif
  return view.size();
}
