// SPDX-License-Identifier: Apache-2.0
// Each field of VerbsOptions at its extremes, one at a time, on simulated devices. Options are refused with
// words that name them, or calls end.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "integration/verbs/simulated_testing.hpp"
#include "support/option_extremes.hpp"

namespace weft::verbs_testing {
namespace {

using Listed = testing::Structs<VerbsOptions>;

Status call_with(SimulatedWorld& simulated, const VerbsOptions& options) {
  World& world = simulated.world;
  const Transports set = transports(options);
  Server server{{.listen = {"verbs://127.0.0.1:0"}, .threads = 0, .loop = &world.loop()}, set};
  server.register_handler<&add>();
  if (const auto started = server.start(); !started.ok()) return started.status();
  Client client{world.loop(),
                {.connect = server.urls().front(), .connect_timeout = 1s, .call_timeout = 1s},
                transports(options)};
  return world.wait_for(client.start<&add>(1, 2)).status();
}

TEST(VerbsOptionsSweep, IsRefusedByNameOrWorks) {
  for (std::size_t number = 0;; ++number) {
    SimulatedWorld simulated;
    VerbsOptions options = simulated.options();
    testing::OptionExtreme extreme{number};
    if (!extreme.set(options)) {
      EXPECT_GT(number, 100u);
      return;
    }
    SCOPED_TRACE(extreme.text());
    const Status status = call_with(simulated, options);
    if (status.code() != StatusCode::kInvalidArgument) continue;
    EXPECT_NE(status.to_string().find(extreme.option()), std::string::npos) << status.to_string();
  }
}

}  // namespace
}  // namespace weft::verbs_testing
