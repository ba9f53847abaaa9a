// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/terms/latency_histogram.hpp"

#include <gtest/gtest.h>

#include "calls/terms/method_times.hpp"

namespace weft::detail::latency_histogram_tests {
namespace {

using namespace std::chrono_literals;

TEST(Latencies, BucketsIncludeTheirBounds) {
  EXPECT_EQ(LatencyHistogram::bucket(Duration::zero()), 0u);
  EXPECT_EQ(LatencyHistogram::bucket(1us), 0u);
  EXPECT_EQ(LatencyHistogram::bucket(1us + 1ns), 1u);
  EXPECT_EQ(LatencyHistogram::bucket(2us), 1u);
  EXPECT_EQ(LatencyHistogram::bucket(100s), LatencyHistogram::kBounds - 1);
  EXPECT_EQ(LatencyHistogram::bucket(100s + 1ns), LatencyHistogram::kBounds);
  EXPECT_EQ(LatencyHistogram::bucket(Duration::max()), LatencyHistogram::kBounds);
}

TEST(Latencies, AQuantileIsTheBoundAboveItsShareOfTheCalls) {
  LatencyHistogram histogram;
  EXPECT_EQ(histogram.quantile(0.5), Duration::zero());
  histogram.counts[LatencyHistogram::bucket(10us)] = 98;
  histogram.counts[LatencyHistogram::bucket(3ms)] = 1;
  histogram.counts[LatencyHistogram::kBounds] = 1;
  EXPECT_EQ(histogram.total(), 100u);
  EXPECT_EQ(histogram.quantile(0), 10us);
  EXPECT_EQ(histogram.quantile(0.5), 10us);
  EXPECT_EQ(histogram.quantile(0.98), 10us);
  EXPECT_EQ(histogram.quantile(0.99), 5ms);
  EXPECT_EQ(histogram.quantile(1), Duration::max());
}

TEST(TimesOfMethods, AreAddedToTheStatisticsOfOtherLoops) {
  MethodTimes one;
  MethodTimes other;
  one.ended(StatusCode::kOk, 4us, 3, 6us);
  one.ended(StatusCode::kUnknown, 1ms, 1, Duration::zero());
  one.received(100);
  other.ended(StatusCode::kOk, 4us, 1, 1s);
  other.sent(7);
  MethodStats stats;
  one.add_to(stats);
  other.add_to(stats);
  ASSERT_EQ(stats.latencies.size(), 2u);
  EXPECT_EQ(stats.latencies[0].code, StatusCode::kOk);
  EXPECT_EQ(stats.latencies[0].histogram.total(), 4u);
  EXPECT_EQ(stats.latencies[0].histogram.sum, 16us);
  EXPECT_EQ(stats.latencies[1].code, StatusCode::kUnknown);
  EXPECT_EQ(stats.waited, 10us) << "no more than the whole duration";
  EXPECT_EQ(stats.ran, 6us + 1ms);
  EXPECT_EQ(stats.bytes_received, 100u);
  EXPECT_EQ(stats.bytes_sent, 7u);
}

}  // namespace
}  // namespace weft::detail::latency_histogram_tests
