// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/runtime/turn_end_hook.hpp"

namespace weft::detail {

[[gnu::always_inline]] inline std::size_t TurnEndHooks::run_all(List& hooks) {
  List batch;
  batch.splice_back(hooks);
  std::size_t ran = 0;
  for (; !batch.empty(); ++ran) batch.pop_front().on_turn_end();
  return ran;
}

// Most turns have no last hooks.
std::size_t TurnEndHooks::run() {
  std::size_t ran = run_all(first_);
  if (!last_.empty()) [[unlikely]] {
    ran += run_all(last_);
  }
  return ran;
}

}  // namespace weft::detail
