// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/runtime/fd_watch.hpp"

namespace weft::detail {

struct FdWatch::Internal {};

/// A descriptor whose only purpose is to end the loop's wait; its meaning is checked in every turn anyway.
class InternalWatch final : public FdWatch {
 public:
  InternalWatch() noexcept : FdWatch(Internal{}) {}
  void on_ready(Readiness) override {}
};

}  // namespace weft::detail
