// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/limits/adaptive_limit.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <functional>
#include <queue>
#include <vector>

#include "support/heap_count.hpp"
#include "weft/detail/base/random_numbers.hpp"

namespace weft::detail {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr TimePoint kBegin{seconds{1000}};

/// A server of some workers and one queue in front of them, on a clock of its own. Calls come at random, and
/// count as good when they end within their deadline. `until` says up to when nothing is worked on.
class ModelServer {
 public:
  ModelServer(std::uint64_t seed, std::size_t workers, Duration service)
      : random_(seed), workers_(workers), service_(service) {}

  struct Run {
    double good = 0;
    double refused = 0;
    double limit_sum = 0;
    double samples = 0;
    std::uint32_t limit_least = ~0u;
    double limit_mean() const { return limit_sum / samples; }
  };

  /// Lets `per_second` calls a second come for `time`. Without a limit all are taken.
  Run run(Duration time, double per_second, AdaptiveLimit* limit) {
    Run run;
    const TimePoint end = now_ + time;
    TimePoint next_call = now_ + until_next(per_second);
    while (now_ < end) {
      const TimePoint next_end = busy_.empty() ? TimePoint::max() : busy_.top().at;
      now_ = std::min({next_call, next_end, end});
      if (now_ == end) break;
      if (now_ == next_end) {
        finish(run, limit);
      } else {
        next_call = now_ + until_next(per_second);
        arrive(run, limit);
      }
    }
    return run;
  }

  void stall(Duration time) { stalled_until_ = now_ + time; }
  void set_service(Duration service) { service_ = service; }
  TimePoint now() const { return now_; }
  Duration deadline = milliseconds{200};

 private:
  struct Busy {
    TimePoint at;
    TimePoint came;
    bool operator>(const Busy& other) const { return at > other.at; }
  };

  Duration until_next(double per_second) {
    return Duration{static_cast<Duration::rep>(-std::log(random_.between(1e-12, 1)) / per_second * 1e9)};
  }
  void arrive(Run& run, AdaptiveLimit* limit) {
    if (limit != nullptr) {
      run.limit_sum += limit->limit();
      run.samples += 1;
      run.limit_least = std::min(run.limit_least, limit->limit());
      if (!limit->try_begin(now_)) {
        ++run.refused;
        return;
      }
    }
    waiting_.push_back(now_);
    work();
  }
  void work() {
    while (busy_.size() < workers_ && !waiting_.empty()) {
      const TimePoint begins = std::max(now_, stalled_until_);
      const double part = random_.between(0.5, 1.5);
      busy_.push({begins + Duration{static_cast<Duration::rep>(static_cast<double>(service_.count()) * part)},
                  waiting_.front()});
      waiting_.pop_front();
    }
  }
  void finish(Run& run, AdaptiveLimit* limit) {
    const Busy done = busy_.top();
    busy_.pop();
    if (now_ - done.came <= deadline) ++run.good;
    if (limit != nullptr) limit->ended(now_, now_ - done.came);
    work();
  }

  RandomNumbers random_;
  std::size_t workers_;
  Duration service_;
  TimePoint now_ = kBegin;
  TimePoint stalled_until_ = kBegin;
  std::priority_queue<Busy, std::vector<Busy>, std::greater<>> busy_;
  std::deque<TimePoint> waiting_;
};

// Sixteen workers and calls of 10 ms: 1600 a second at most.
constexpr std::size_t kWorkers = 16;
constexpr double kCapacity = 1600;

TEST(AdaptiveLimits, HoldGoodputUnderTenTimesTheLoad) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    ModelServer peak_server{seed, kWorkers, milliseconds{10}};
    const double peak = peak_server.run(seconds{60}, kCapacity * 0.95, nullptr).good / 60;

    ModelServer without{seed, kWorkers, milliseconds{10}};
    without.run(seconds{5}, kCapacity * 10, nullptr);
    EXPECT_LT(without.run(seconds{5}, kCapacity * 10, nullptr).good / 5, peak * 0.1);

    ModelServer server{seed, kWorkers, milliseconds{10}};
    AdaptiveLimit limit{{}, server.now()};
    server.run(seconds{5}, kCapacity * 0.5, &limit);
    // Long enough for several probes, which are counted.
    const ModelServer::Run run = server.run(seconds{100}, kCapacity * 10, &limit);
    EXPECT_GE(run.good / 100, peak * 0.85) << "seed " << seed;
    EXPECT_LE(run.limit_mean(), 4 * kWorkers) << "seed " << seed;
    RecordProperty("goodput_share_" + std::to_string(seed), std::to_string(run.good / 100 / peak));
  }
}

TEST(AdaptiveLimits, HoldGoodputWhenTheOverloadIsThereFromTheFirst) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    ModelServer server{seed, kWorkers, milliseconds{10}};
    AdaptiveLimit limit{{.limit_initial = 1000}, server.now()};
    server.run(seconds{10}, kCapacity * 10, &limit);
    EXPECT_GE(server.run(seconds{60}, kCapacity * 10, &limit).good / 60, kCapacity * 0.85) << "seed " << seed;
  }
}

TEST(AdaptiveLimits, RefuseNothingUnderHalfTheLoadOnceTheyKnow) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    ModelServer server{seed, kWorkers, milliseconds{10}};
    AdaptiveLimit limit{{.probe_interval = std::chrono::hours{1}}, server.now()};
    server.run(seconds{5}, kCapacity * 0.5, &limit);
    const ModelServer::Run run = server.run(seconds{30}, kCapacity * 0.5, &limit);
    EXPECT_LE(run.refused, run.good * 0.001) << "seed " << seed;
  }
}

TEST(AdaptiveLimits, RecoverFromAStall) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    ModelServer server{seed, kWorkers, milliseconds{10}};
    AdaptiveLimit limit{{}, server.now()};
    server.run(seconds{5}, kCapacity * 2, &limit);
    server.stall(seconds{5});
    const ModelServer::Run stalled = server.run(seconds{6}, kCapacity * 2, &limit);
    EXPECT_GE(stalled.limit_least, 1u);
    EXPECT_GE(server.run(seconds{10}, kCapacity * 2, &limit).good / 10, kCapacity * 0.85) << "seed " << seed;
  }
}

TEST(AdaptiveLimits, AreNeverBelowOne) {
  AdaptiveLimit limit{{.limit_initial = 4}, kBegin};
  TimePoint now = kBegin;
  RandomNumbers random{5};
  for (int call = 0; call < 20'000; ++call) {
    ASSERT_TRUE(limit.try_begin(now)) << call;
    // Each takes longer than the one before, so there is no limit that is low enough.
    const Duration latency = milliseconds{1} + milliseconds{call};
    now += latency;
    limit.ended(now, latency);
    ASSERT_GE(limit.limit(), 1u);
  }
}

TEST(AdaptiveLimits, MeasureAgainWhatACallTakesWithoutLoad) {
  ModelServer server{1, kWorkers, milliseconds{10}};
  AdaptiveLimit limit{{.probe_interval = seconds{10}}, server.now()};
  server.run(seconds{9}, kCapacity * 2, &limit);
  EXPECT_NEAR(std::chrono::duration<double>(limit.latency_without_load()).count(), 0.010, 0.003);
  // Calls become four times as long; what was measured first would hold the limit too low for ever.
  server.set_service(milliseconds{40});
  server.run(seconds{15}, kCapacity, &limit);
  EXPECT_NEAR(std::chrono::duration<double>(limit.latency_without_load()).count(), 0.040, 0.012);
  EXPECT_GE(server.run(seconds{30}, kCapacity, &limit).good / 30, kCapacity / 4 * 0.85);
}

TEST(AdaptiveLimits, BearAProbeIntervalWithoutEnd) {
  ModelServer server{1, kWorkers, milliseconds{10}};
  AdaptiveLimit limit{{.probe_interval = Duration::max()}, server.now()};
  server.run(seconds{10}, kCapacity * 2, &limit);
  EXPECT_GE(server.run(seconds{10}, kCapacity * 2, &limit).good / 10, kCapacity * 0.85);
}

TEST(AdaptiveLimits, DoNotGrowWhileNobodyReachesThem) {
  AdaptiveLimit limit{{.limit_initial = 32}, kBegin};
  TimePoint now = kBegin;
  for (int call = 0; call < 20'000; ++call) {
    ASSERT_TRUE(limit.try_begin(now));
    now += milliseconds{1};
    limit.ended(now, milliseconds{1});
  }
  EXPECT_LE(limit.limit(), 32u);
}

TEST(AdaptiveLimits, CountThoseThatSayNothing) {
  AdaptiveLimit limit{{.limit_initial = 2, .probe_limit = 2}, kBegin};
  EXPECT_TRUE(limit.try_begin(kBegin));
  EXPECT_TRUE(limit.try_begin(kBegin));
  EXPECT_FALSE(limit.try_begin(kBegin));
  limit.dropped();
  EXPECT_EQ(limit.in_flight(), 1u);
  EXPECT_TRUE(limit.try_begin(kBegin));
  EXPECT_EQ(limit.latency_without_load(), Duration::zero());
}

TEST(AdaptiveLimits, GiveTheSameTraceForTheSameSeed) {
  const auto trace = [](std::uint64_t seed) {
    ModelServer server{seed, kWorkers, milliseconds{10}};
    AdaptiveLimit limit{{}, server.now()};
    const ModelServer::Run run = server.run(seconds{40}, kCapacity * 3, &limit);
    return std::pair{run.good, run.limit_sum};
  };
  EXPECT_EQ(trace(4), trace(4));
  EXPECT_NE(trace(4), trace(5));
}

TEST(AdaptiveLimits, TakeNoMemory) {
  const std::size_t before = testing::heap_allocations();
  AdaptiveLimit limit{{}, kBegin};
  for (int call = 0; call < 1000; ++call) {
    const TimePoint now = kBegin + milliseconds{call};
    if (limit.try_begin(now)) limit.ended(now + milliseconds{1}, milliseconds{1});
  }
  EXPECT_TRUE(!testing::kHeapIsCounted || testing::heap_allocations() == before);
}

}  // namespace
}  // namespace weft::detail
