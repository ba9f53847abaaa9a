// SPDX-License-Identifier: Apache-2.0
// CR-17: memory to receive into goes back to the system when fewer connections need it.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "support/manual_time.hpp"
#include "unit/transport/verbs_pair.hpp"

namespace weft {
namespace {

using std::chrono::seconds;
using verbs_carrier_testing::End;
using verbs_carrier_testing::World;

constexpr std::size_t kBlockBytes = 4096;

/// Makes the memory for four messages a block, and the share of one connection.
VerbsOptions blocks_of_four() {
  VerbsOptions options;
  options.message_bytes = 1024;
  options.block_bytes = kBlockBytes;
  options.credits_min = options.credits_max = 4;
  options.usage = std::make_shared<VerbsUsage>();
  return options;
}

class VerbsTrimming : public ::testing::Test {
 protected:
  using Ends = std::vector<std::unique_ptr<End>>;

  Ends joined(std::size_t connections) {
    Ends ends;
    for (std::size_t i = 0; i < 2 * connections; ++i) ends.push_back(std::make_unique<End>());
    for (std::size_t i = 0; i < ends.size(); i += 2) world_.join(*ends[i], *ends[i + 1]);
    return ends;
  }
  /// Messages both ways, every one of which arrives.
  void exchange(const Ends& ends, int messages) {
    const std::string text(100, 'x');
    for (int i = 0; i < messages; ++i) {
      for (std::size_t at = 0; at < ends.size(); ++at) {
        ASSERT_TRUE(ends[at]->send(text));
        world_.run_until_idle();
        ASSERT_EQ(ends[at ^ 1]->receive(), text);
        world_.run_until_idle();
      }
    }
    EXPECT_EQ(world_.receivers_not_ready(), 0u);
  }
  void pass(Duration time) { testing::pass(*world_.loop, clock_, time); }
  /// Returns the number of blocks at each end.
  std::size_t blocks() const { return options_.usage->receive_bytes / kBlockBytes / 2; }

  ManualClock clock_;
  VerbsOptions options_ = blocks_of_four();
  World world_{options_, &clock_};
};

TEST_F(VerbsTrimming, WhatFewerConnectionsDoNotNeedGoesBackAfterAWhile) {
  const Ends stays = joined(1);
  {
    const Ends gone = joined(7);
    EXPECT_EQ(blocks(), 8u);
  }
  pass(seconds{1});
  exchange(stays, 40);
  EXPECT_EQ(blocks(), 8u) << "they may come back soon";
  pass(seconds{10});
  EXPECT_EQ(blocks(), 8u) << "the device has all receives still";
  exchange(stays, 40);
  EXPECT_LE(blocks(), 2u) << "what is needed, and one for the next rush";
  exchange(stays, 40);
  const Ends again = joined(7);
  exchange(again, 5);
  EXPECT_EQ(blocks(), 8u);
}

TEST_F(VerbsTrimming, WhatConnectionsWerePromisedStaysHoweverQuietTheyAre) {
  const Ends ends = joined(6);
  pass(seconds{100});
  exchange(ends, 10);
  EXPECT_EQ(blocks(), 6u);
}

TEST_F(VerbsTrimming, ARushThatComesWhileMemoryIsGivenBackFindsItsDue) {
  const Ends stays = joined(1);
  {
    const Ends gone = joined(7);
  }
  pass(seconds{11});
  for (std::size_t more = 1; more < 8; ++more) {
    exchange(stays, 3);
    const Ends rush = joined(more);
    exchange(rush, 5);
  }
}

}  // namespace
}  // namespace weft
