// SPDX-License-Identifier: Apache-2.0
// EXPECT: the memory of a std::array, and of a short std::string, moves along with it
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "weft/server.hpp"

#ifdef WEFT_COMPILE_FAIL_CONTROL
using Memory = std::vector<std::byte>;
#else
using Memory = std::array<std::byte, 64>;
#endif

void serve(weft::CallContext& context, Memory memory) {
  const weft::AttachmentView runs{memory};
  context.set_attachment({runs, std::move(memory)});
}
