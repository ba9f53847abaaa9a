// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <typeinfo>

namespace weft {

namespace detail {
void* loop_state_here(const std::type_info& type) noexcept;
}  // namespace detail

/// The `T` that a server keeps for the loop of this thread (CallServer::per_loop()). It is found by its type,
/// which is unique among the states of a loop, without a lock: in handlers of every kind except blocking
/// ones, in coroutines after a suspension, in pollers and timers. Valid until the last handler has ended on
/// this loop. Thread: one of a loop with such a state, inside a turn; elsewhere, as in a blocking handler or
/// a function on a worker, it aborts the process with a message: pass such code the objects that it needs.
template <typename T>
T& loop_state() noexcept {
  return *static_cast<T*>(detail::loop_state_here(typeid(T)));
}

}  // namespace weft
