// SPDX-License-Identifier: Apache-2.0
#include "load/meter.hpp"

#include <algorithm>

#include "load/cpu.hpp"

namespace weft::load {
namespace {

constexpr std::int64_t kProgressNs = 200'000'000;

std::int64_t to_ns(double seconds) {
  return static_cast<std::int64_t>(seconds * 1e9);
}

double to_us(std::uint64_t ns) {
  return static_cast<double>(ns) / 1000;
}

}  // namespace

Meter::Meter(const ClientOptions& options, std::int64_t start_ns)
    : open_loop_(options.rate > 0),
      bytes_per_call_(std::max(options.size_bytes, options.answer_bytes())),
      begin_ns_(start_ns + to_ns(options.warmup_seconds)),
      end_ns_(begin_ns_ + to_ns(options.seconds)),
      next_tick_ns_(start_ns),
      progress_(options.silent ? 0 : options.seconds) {}

void Meter::on_tick(std::int64_t now_ns) {
  if (now_ns >= begin_ns_ && !begun_) {
    begun_ = true;
    cpu_begin_ns_ = process_cpu_ns();
  }
  if (now_ns >= end_ns_ && !ended_) {
    ended_ = true;
    cpu_end_ns_ = process_cpu_ns();
    progress_.clear();
  }
  if (ended_) {
    next_tick_ns_ = INT64_MAX;
    return;
  }
  progress_.note(now_ns - begin_ns_, completed_, errors_);
  next_tick_ns_ = std::min(now_ns + kProgressNs, begun_ ? end_ns_ : begin_ns_);
}

Report Meter::report() const {
  Report report;
  report.calls = completed_;
  report.seconds = static_cast<double>(end_ns_ - begin_ns_) / 1e9;
  report.qps = static_cast<double>(completed_) / report.seconds;
  report.gbps = report.qps * static_cast<double>(bytes_per_call_) * 8 / 1e9;
  report.p50_us = to_us(latency_.value_at(0.5));
  report.p90_us = to_us(latency_.value_at(0.9));
  report.p99_us = to_us(latency_.value_at(0.99));
  report.p999_us = to_us(latency_.value_at(0.999));
  report.max_us = to_us(latency_.max());
  report.errors = errors_;
  if (completed_ > 0) {
    // The last call may end before the tick that ends the measurement.
    const std::int64_t cpu_end = ended_ ? cpu_end_ns_ : process_cpu_ns();
    report.cpu_us_per_call =
        static_cast<double>(cpu_end - cpu_begin_ns_) / 1000 / static_cast<double>(completed_);
  }
  return report;
}

}  // namespace weft::load
