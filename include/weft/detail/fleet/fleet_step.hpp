// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>

#include "weft/detail/base/status.hpp"

namespace weft::detail {

struct FleetMember;

/// Next step of a call of a fleet that has no answer yet.
struct [[nodiscard]] FleetStep {
  enum class Kind : std::uint8_t {
    kAttempt,  ///< `member` is asked
    kWait,     ///< there is no server to ask now, and there may be one later
    kEnd,      ///< the call ends with `failure`
  };

  static FleetStep attempt_at(FleetMember& member) noexcept { return {&member, {}, Kind::kAttempt}; }
  static FleetStep to_wait() noexcept { return {nullptr, {}, Kind::kWait}; }
  static FleetStep end_with(Status failure) noexcept { return {nullptr, std::move(failure), Kind::kEnd}; }

  /// Null unless it is an attempt.
  FleetMember* member;
  /// Ok unless it is the end.
  Status failure;
  Kind kind;
};

}  // namespace weft::detail
