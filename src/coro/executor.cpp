// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/coro/executor.hpp"

namespace weft::detail {

void* Executor::find_local(const std::type_info& type) noexcept {
  void* found = nullptr;
  locals_.for_each([&](ExecutorLocal& local) {
    if (&local.type() == &type) found = local.object();
  });
  if (found != nullptr) return found;
  // Libraries that were loaded apart may each have a type_info of the same type.
  locals_.for_each([&](ExecutorLocal& local) {
    if (local.type() == type) found = local.object();
  });
  return found;
}

}  // namespace weft::detail
