// SPDX-License-Identifier: Apache-2.0
// EXPECT: a worker's function owns its arguments
#include <string>
#include <string_view>

#include "weft/detail/runtime/on_worker.hpp"

void hand_over(weft::WorkerPool& pool, const std::string& text) {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  static_cast<void>(weft::on_worker(pool, [](const std::string&) {}, text));
#else
  static_cast<void>(weft::on_worker(pool, [](std::string_view) {}, std::string_view{text}));
#endif
}
