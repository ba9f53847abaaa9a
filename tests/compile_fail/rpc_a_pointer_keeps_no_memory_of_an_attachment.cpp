// SPDX-License-Identifier: Apache-2.0
// EXPECT: a pointer keeps no memory: give a std::shared_ptr
#include <memory>
#include <utility>

#include "weft/server.hpp"

void serve(weft::CallContext& context, std::shared_ptr<weft::Bytes> memory) {
  const weft::AttachmentView runs{*memory};
#ifdef WEFT_COMPILE_FAIL_CONTROL
  context.set_attachment({runs, std::move(memory)});
#else
  context.set_attachment({runs, memory.get()});
#endif
}
