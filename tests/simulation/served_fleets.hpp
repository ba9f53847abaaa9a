// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <chrono>

#include "simulation/served_fleet.hpp"
#include "support/heap_count.hpp"

namespace weft::simulation {

// Fewer where a sanitizer makes each of them slow.
inline constexpr bool kAll = testing::kHeapIsCounted;

inline fleet::Plan plan_of(std::size_t servers, std::size_t clients, Duration think) {
  return {.servers = servers, .clients = clients, .seed = 1, .think = think, .connect_timeout = 1s};
}

/// A call goes elsewhere when a server says nothing. Of the calls of the first moment one in sixteen would
/// meet four servers that are silent, where half of them are.
inline FleetOptions impatient(std::size_t /*client*/) {
  FleetOptions options;
  options.retry.attempt_timeout = 500ms;
  options.retry.attempts_max = 12;
  return options;
}

inline void expect_no_failure(const Outcomes& outcomes) {
  EXPECT_EQ(outcomes.failed, 0u) << outcomes.failure.to_string();
  EXPECT_EQ(outcomes.wrong, 0u);
  EXPECT_GT(outcomes.succeeded, 0u);
}

}  // namespace weft::simulation
