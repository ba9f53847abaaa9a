// SPDX-License-Identifier: Apache-2.0
// EXPECT: a function that owns something is a temporary here
#include <string>

#include "weft/detail/runtime/on_worker.hpp"

void hand_over(weft::WorkerPool& pool, const std::string& text) {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  const auto named = [text] { return text.size(); };
  static_cast<void>(weft::on_worker(pool, named));
#else
  static_cast<void>(weft::on_worker(pool, [text] { return text.size(); }));
#endif
}
