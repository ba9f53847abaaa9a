// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <type_traits>

#include "weft/detail/coro/is_view.hpp"

namespace weft::detail {

/// A type that a spawned task may keep: a value that owns its data. Pointers are accepted: the caller
/// guarantees the lifetime of their targets.
template <typename T>
concept OwnedArgument = std::is_object_v<T> && std::move_constructible<T> && !is_view<T>;

/// A function pointer, a member pointer, or an object without state such as a lambda without captures.
template <typename T>
concept StatelessFunction =
    std::is_empty_v<T> || std::is_member_pointer_v<T> || std::is_function_v<std::remove_pointer_t<T>>;

}  // namespace weft::detail
