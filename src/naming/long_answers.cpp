// SPDX-License-Identifier: Apache-2.0
#include "naming/long_answers.hpp"

namespace weft::detail {

bool LongAnswers::has_thread() {
  if (thread_ == nullptr) {
    auto started = WorkerPool::start({.name = "weft-names", .threads = 1});
    if (started.ok()) thread_ = std::move(*started);
  }
  return thread_ != nullptr;
}

}  // namespace weft::detail
