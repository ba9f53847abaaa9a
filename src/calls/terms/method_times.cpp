// SPDX-License-Identifier: Apache-2.0
#include "calls/terms/method_times.hpp"

#include <algorithm>
#include <new>

namespace weft::detail {

namespace {

Duration nanoseconds(const Counter& counter) noexcept {
  return std::chrono::nanoseconds{counter.get()};
}

CodeLatency& latency_of(MethodStats& stats, StatusCode code) {
  for (CodeLatency& latency : stats.latencies) {
    if (latency.code == code) return latency;
  }
  return stats.latencies.emplace_back(CodeLatency{code, {}});
}

}  // namespace

MethodTimes::~MethodTimes() {
  for (const auto& histogram : codes_) delete histogram.load(std::memory_order_relaxed);
}

MethodTimes::Histogram* MethodTimes::need(StatusCode code) noexcept {
  std::atomic<Histogram*>& place = codes_[static_cast<std::size_t>(code) % kStatusCodes];
  Histogram* histogram = place.load(std::memory_order_relaxed);
  if (histogram == nullptr) [[unlikely]] {
    histogram = new (std::nothrow) Histogram;
    place.store(histogram, std::memory_order_release);
  }
  return histogram;
}

void MethodTimes::ended(StatusCode code, Duration duration, std::uint64_t calls, Duration waited) noexcept {
  const Duration sum = duration * static_cast<Duration::rep>(calls);
  waited = std::clamp(waited, Duration::zero(), sum);
  waited_.add(waited.count());
  ran_.add((sum - waited).count());
  Histogram* const histogram = need(code);
  if (histogram == nullptr) return;
  histogram->counts[LatencyHistogram::bucket(duration)].add(static_cast<std::int64_t>(calls));
  histogram->sum.add(sum.count());
}

bool MethodTimes::may_sample(StatusCode code, TimePoint now) noexcept {
  constexpr Duration kApart = std::chrono::seconds{1};
  Histogram* const histogram = need(code);
  if (histogram == nullptr || now < histogram->sample_from) return false;
  histogram->sample_from = now + kApart;
  return true;
}

void MethodTimes::add_to(MethodStats& stats) const {
  stats.bytes_received += bytes_received_.get();
  stats.bytes_sent += bytes_sent_.get();
  stats.waited += nanoseconds(waited_);
  stats.ran += nanoseconds(ran_);
  for (std::size_t code = 0; code < kStatusCodes; ++code) {
    const Histogram* const from = codes_[code].load(std::memory_order_acquire);
    if (from == nullptr) continue;
    LatencyHistogram& to = latency_of(stats, static_cast<StatusCode>(code)).histogram;
    for (std::size_t i = 0; i < to.counts.size(); ++i) to.counts[i] += from->counts[i].get();
    to.sum += nanoseconds(from->sum);
  }
}

MethodTimes* OwnedMethodTimes::make() noexcept {
  MethodTimes* const times = new (std::nothrow) MethodTimes;
  times_.store(times, std::memory_order_release);
  return times;
}

}  // namespace weft::detail
