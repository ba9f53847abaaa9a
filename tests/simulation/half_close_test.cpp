// SPDX-License-Identifier: Apache-2.0
// A connection in memory of which the client's direction ends behind its request: the answer comes all the
// same.
#include <gtest/gtest.h>

#include <optional>

#include "simulation/world.hpp"

namespace weft::simulation {
namespace {

Task<void> keep_outcome(Call<std::uint32_t> call, std::optional<Result<std::uint32_t>>* outcome) {
  outcome->emplace(co_await std::move(call));
}

/// The outcome of a slow call when the client's direction ends after so many bytes, and whether the server
/// then had the end.
struct Ending {
  bool answered = false;
  bool ended = false;
};
Ending call_with_an_end_after(std::uint64_t bytes) {
  MemoryOptions memory;
  memory.to_server.half_close_after = bytes;
  World world{memory, {}, {}};
  std::optional<Result<std::uint32_t>> outcome;
  Scope scope;
  world.loop().post(
      [&] { scope.spawn(&keep_outcome, world.client().start<&Service::nap>(1u, 50u), &outcome); });
  EXPECT_TRUE(world.run_until([&] { return outcome.has_value(); }, 5s));
  Ending ending;
  ending.answered = outcome.has_value() && outcome->ok() && **outcome == Service::answer_to(1);
  world.run_until_idle();
  ending.ended = world.server().stats().connections == 0;
  return ending;
}

TEST(HalfClose, BehindARequestStillLetsItsAnswerThrough) {
  std::uint64_t bytes = 8;
  Ending ending = call_with_an_end_after(bytes);
  while (!ending.answered && bytes < 1000) ending = call_with_an_end_after(bytes += 8);
  EXPECT_TRUE(ending.answered);
  EXPECT_TRUE(ending.ended) << "the first end that lets the call through is the one just behind the request";
}

}  // namespace
}  // namespace weft::simulation
