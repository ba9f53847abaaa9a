// SPDX-License-Identifier: Apache-2.0
#include "calls/terms/fault_log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "calls/terms/refusals.hpp"
#include "weft/detail/wire/frame.hpp"

namespace weft {

using namespace weft::detail;
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Lines final : Logger {
  void write(LogLevel, std::string_view message) override { lines.emplace_back(message); }
  std::vector<std::string> lines;
};

class FaultLogs : public ::testing::Test {
 protected:
  void note(std::string_view endpoint, Duration after, std::uint64_t faults = 1) {
    log_.note(endpoint, "bad", faults, TimePoint{24h} + after);
  }
  Lines lines_;
  FaultLog log_{lines_};
};

TEST_F(FaultLogs, WritesOneLineASecondOfEachPeerAndSaysHowManyItLeftOut) {
  note("tcp://10.0.0.1:1000", 0ms);
  note("tcp://10.0.0.2:1000", 0ms);
  for (int i = 0; i < 5; ++i) note("tcp://10.0.0.1:1000", 999ms);
  EXPECT_THAT(lines_.lines, ElementsAre("tcp://10.0.0.1:1000: bad", "tcp://10.0.0.2:1000: bad"));
  log_.keep_back("tcp://10.0.0.1:1000", 2);
  note("tcp://10.0.0.1:1000", 1s, 3);
  ASSERT_EQ(lines_.lines.size(), 3u);
  EXPECT_EQ(lines_.lines[2], "tcp://10.0.0.1:1000: bad (9 more of this peer were not logged)");
}

TEST_F(FaultLogs, TakesAPeerThatComesBackOnAnotherPortForTheSame) {
  note("tcp://10.0.0.1:1000", 0ms);
  note("tcp://10.0.0.1:1001", 10ms);
  note("tcp://[::1]:1000", 20ms);
  note("tcp://[::1]:1001", 30ms);
  EXPECT_THAT(lines_.lines, ElementsAre("tcp://10.0.0.1:1000: bad", "tcp://[::1]:1000: bad"));
}

TEST_F(FaultLogs, IsBoundedHoweverManyPeersThereAre) {
  const auto peer = [](std::size_t number) { return "tcp://10.0.0." + std::to_string(number) + ":1"; };
  for (std::size_t i = 0; i < FaultLog::kPeersMax * 2; ++i) note(peer(i), 0ms);
  EXPECT_EQ(lines_.lines.size(), FaultLog::kPeersMax);
  note(peer(1000), 1s);
  ASSERT_EQ(lines_.lines.size(), FaultLog::kPeersMax + 1) << "one that was silent for long makes room";
  EXPECT_THAT(lines_.lines.back(), HasSubstr(std::to_string(FaultLog::kPeersMax) + " of other peers"));
}

TEST(Refusals, HaveANameAndFollowTheFaultsOfTheWire) {
  for (std::size_t index = 0; index < detail::kRefusalReasons; ++index) {
    EXPECT_NE(to_string(static_cast<RefusalReason>(index)), "?") << index;
  }
  for (int fault = 1; fault < static_cast<int>(wire::FrameFault::kCount); ++fault) {
    const auto why = static_cast<wire::FrameFault>(fault);
    const auto breach = breach_of(wire::fault_status(why, {}, {}));
    ASSERT_TRUE(breach);
    EXPECT_EQ(to_string(*breach), to_string(why));
    EXPECT_TRUE(ends_connection(*breach));
  }
  EXPECT_FALSE(breach_of({StatusCode::kUnavailable, Layer::kTransport, "gone"}));
  EXPECT_EQ(breach_of({StatusCode::kInvalidArgument, Layer::kTransport, "out of turn"}),
            RefusalReason::kCarrierRules);
  EXPECT_FALSE(ends_connection(RefusalReason::kUnknownMethod));
}

}  // namespace
}  // namespace weft
