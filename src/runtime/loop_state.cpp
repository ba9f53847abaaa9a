// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/runtime/loop_state.hpp"

#include "weft/detail/base/assert.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft::detail {

void* loop_state_here(const std::type_info& type) noexcept {
  Loop* const loop = Loop::current();
  WEFT_ASSERT(
      loop != nullptr,
      "loop_state<T>() outside of a loop's turn; a blocking handler and a function on a worker have no "
      "loop: give them what they need");
  void* const object = loop->find_local(type);
  WEFT_ASSERT(object != nullptr,
              "loop_state<T>() on a loop that has no T, or has it no longer: the server is given one by "
              "per_loop<T>(), and `T` is the same type there and here");
  return object;
}

}  // namespace weft::detail
