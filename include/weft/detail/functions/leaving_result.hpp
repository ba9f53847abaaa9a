// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "weft/detail/calls/terms/leaving_memory.hpp"
#include "weft/detail/codec/codec.hpp"
#include "weft/detail/functions/views.hpp"

namespace weft::detail {

/// True if a result may be kept beyond its handler until it was sent: it owns all its memory for its
/// lifetime, and moving it cannot fail.
template <typename R>
inline constexpr bool leaves_its_handler =
    !std::is_const_v<R> && may_have_runs<R>() && owns_memory<R> && !holds_view<R> && !borrows_memory<R> &&
    std::is_nothrow_move_constructible_v<R>;

/// Result of a handler's that has left it, with long runs in it.
template <typename R>
class LeavingResult final : public LeavingMemory {
 public:
  /// Moves from `value`; null, with `value` unchanged, when memory is exhausted.
  static std::unique_ptr<LeavingResult> keep(R& value) noexcept {
    return std::unique_ptr<LeavingResult>{new (std::nothrow) LeavingResult{std::move(value)}};
  }
  const R& value() const noexcept { return value_; }

 private:
  explicit LeavingResult(R&& value) noexcept : value_(std::move(value)) {}

  R value_;
};

}  // namespace weft::detail
