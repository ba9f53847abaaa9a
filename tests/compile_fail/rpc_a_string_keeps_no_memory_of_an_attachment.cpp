// SPDX-License-Identifier: Apache-2.0
// EXPECT: and of a short std::string, moves along with it: give a
#include <memory>
#include <string>
#include <utility>

#include "weft/server.hpp"

void serve(weft::CallContext& context, std::string text) {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  auto kept = std::make_unique<std::string>(std::move(text));
  const weft::AttachmentView runs{weft::as_bytes(*kept)};
  context.set_attachment({runs, std::move(kept)});
#else
  const weft::AttachmentView runs{weft::as_bytes(text)};
  context.set_attachment({runs, std::move(text)});
#endif
}
