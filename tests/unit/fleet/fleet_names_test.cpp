// SPDX-License-Identifier: Apache-2.0
// CR-13: names whose servers become nothing, no servers, or far too many, under the calls of a fleet.
#include "unit/fleet/fleet_testing.hpp"

namespace weft::fleet_tests {
namespace {

class FleetNames : public FleetTest {
 protected:
  static std::string lines_of(int count) {
    std::string lines = url(0) + "\n";
    for (int i = 1; i < count; ++i) {
      lines += "hole://h" + std::to_string(i) + "\n";
    }
    return lines;
  }
  void expect_served_by_zero() {
    const FleetCallOptions options{.call = {.timeout = 10s}};
    const Result<int> answer = run(fleet_->call<&Replica::ask>(options));
    ASSERT_TRUE(answer.ok()) << answer.status().to_string();
    EXPECT_EQ(*answer, 0);
  }
  /// Writes a list that is not taken over, of which the logger hears unless it failed alike before, and gives
  /// it the time to be.
  void write_in_vain(const std::string& lines, bool is_news = true) {
    const std::uint64_t lists = fleet_->stats().lists;
    const int told = logger_.lines;
    write(lines);
    if (is_news) pass_until([&] { return logger_.lines > told; });
    for (int i = 0; i < 20; ++i) testing::pass(*loop_, clock_, 100ms);
    EXPECT_EQ(fleet_->stats().lists, lists);
    EXPECT_EQ(fleet_->stats().endpoints, 1u);
  }
};

TEST_F(FleetNames, OfNothingLeaveTheServersThatAreKnown) {
  serve(0);
  make_listed(lines_of(1));
  expect_served_by_zero();
  write_in_vain("");
  expect_served_by_zero();
  write_in_vain("# all of them are away\n\n", false);
  expect_served_by_zero();
  write_in_vain("no server\n" + std::string(10'000, '\xff') + "\n");
  expect_served_by_zero();
}

TEST_F(FleetNames, OfAHundredThousandServersAreRefusedWhole) {
  serve(0);
  FleetOptions options;
  make_listed(lines_of(1), std::move(options));
  write_in_vain(lines_of(100'000));
  EXPECT_EQ(fleet_->stats().lists_refused, 0u) << "the name's own limit is lower";
  expect_served_by_zero();
}

TEST_F(FleetNames, OfMoreServersThanAFleetHoldsAreRefusedWholeEvenIfTheNameMayHaveThem) {
  serve(0);
  FleetOptions options;
  options.naming.endpoints_max = 200'000;
  make_listed(lines_of(1), std::move(options));
  write_in_vain(lines_of(100'000));
  EXPECT_EQ(fleet_->stats().lists_refused, 1u);
  expect_served_by_zero();
}

TEST_F(FleetNames, OfSixtyThousandServersThatAreBlackHolesCostNoCallOfTheOneThatServes) {
  serve(0);
  FleetOptions options;
  options.naming.endpoints_max = 100'000;
  make_listed(lines_of(1), std::move(options));
  expect_served_by_zero();
  list(lines_of(60'000));
  EXPECT_EQ(fleet_->stats().endpoints, 60'000u);
  for (int i = 0; i < 20; ++i) expect_served_by_zero();
  list(lines_of(1));
  EXPECT_EQ(fleet_->stats().endpoints, 1u);
  expect_served_by_zero();
}

/// A handler that calls its own name, and so itself, for as long as there is time.
struct Mirror {
  FleetClient* fleet = nullptr;
  int ran = 0;
  Task<int> reflect(int depth);
};
Task<int> Mirror::reflect(int depth) {
  ++ran;
  auto call = fleet->call<&Mirror::reflect>(depth + 1);
  const Result<int> deeper = co_await std::move(call);
  co_return deeper.ok() ? *deeper : depth;
}

TEST_F(FleetNames, OfOurselvesEndByTheTimeOfTheFirstCall) {
  Mirror mirror;
  ServerOptions options;
  options.listen = {url(0)};
  options.threads = 0;
  options.loop = loop_.get();
  options.logger = &logger_;
  options.limits.ping_interval = 0s;
  options.calls_running_max = 100;
  servers_[0] = std::make_unique<Server>(std::move(options), transports_);
  servers_[0]->register_handler<&Mirror::reflect>(&mirror);
  servers_[0]->start().value();
  mirror.fleet = &make(1);
  const TimePoint begun = loop_->now();
  const FleetCallOptions call{.call = {.timeout = 5s}};
  const Result<int> answer = run(fleet_->call<&Mirror::reflect>(call, 0));
  EXPECT_TRUE(answer.ok() || answer.status().code() == StatusCode::kDeadlineExceeded)
      << answer.status().to_string();
  EXPECT_LE(loop_->now() - begun, 6s);
  EXPECT_LE(mirror.ran, 1000) << "the server's bound holds for calls of itself";
  testing::pass(*loop_, clock_, 10s);
  EXPECT_EQ(fleet_->stats().calls_in_flight, 0u);
}

}  // namespace
}  // namespace weft::fleet_tests
