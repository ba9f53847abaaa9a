// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "weft/detail/base/unique_function.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/runtime/timer.hpp"

namespace weft::detail {

/// Does something in the loop's next turn, for what may be made outside of one; not at all when it has ended
/// before.
class FirstTurn final : private Timer {
 public:
  FirstTurn(Loop& loop, UniqueFunction<void()> begin) : begin_(std::move(begin)) {
    loop.arm(*this, loop.now());
  }
  ~FirstTurn() = default;

 private:
  void on_timer() override { begin_(); }

  UniqueFunction<void()> begin_;
};

}  // namespace weft::detail
