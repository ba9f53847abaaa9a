// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/balancing/outlier_records.hpp"

#include <algorithm>

#include "weft/detail/balancing/endpoint_keys.hpp"

namespace weft::detail {

namespace {

/// A call without an answer for this long, to an endpoint that answered no other call meanwhile, speaks for
/// the calls that wait beside it too.
constexpr Duration kSilence = std::chrono::seconds{1};
/// Failures in a row that eject an endpoint which has not answered a call yet.
constexpr std::uint32_t kFirstFailures = 2;

}  // namespace

void OutlierRecords::carry_over(std::span<const std::uint32_t> before) {
  records_ = carried_over(records_, before, Record{});
  sum_of_means_ = 0;
  means_ = 0;
  for (const Record& record : records_) {
    if (record.last_mean <= 0) continue;
    sum_of_means_ += record.last_mean;
    ++means_;
  }
}

void OutlierRecords::set_mean(Record& record, double mean) noexcept {
  sum_of_means_ += mean - record.last_mean;
  means_ += static_cast<std::size_t>(mean > 0);
  means_ -= static_cast<std::size_t>(record.last_mean > 0);
  record.last_mean = mean;
}

void OutlierRecords::forget(std::uint32_t index) noexcept {
  set_mean(records_[index], 0);
  const std::uint32_t in_flight = records_[index].in_flight;
  records_[index] = Record{};
  records_[index].in_flight = in_flight;
}

bool OutlierRecords::looks_well(std::uint32_t index) const noexcept {
  const Record& record = records_[index];
  if (record.failures_in_a_row != 0) return false;
  return record.calls < options_.window_calls_min || record.failures < options_.failure_share * record.calls;
}

bool OutlierRecords::is_slow(const Record& record, double mean) noexcept {
  if (options_.latency_factor <= 0) return false;
  const double others = sum_of_means_ - record.last_mean;
  const auto count = means_ - static_cast<std::size_t>(record.last_mean > 0);
  return count > 0 && mean > options_.latency_factor * others / static_cast<double>(count);
}

bool OutlierRecords::end_window(Record& record) noexcept {
  const double calls = record.calls;
  const bool says_something = record.calls >= options_.window_calls_min;
  bool outlier = says_something && record.failures >= options_.failure_share * calls;
  if (says_something) {
    const double mean = std::max(1.0, record.latency_sum / calls);
    outlier = outlier || is_slow(record, mean);
    set_mean(record, mean);
  }
  record.calls = record.failures = 0;
  record.latency_sum = 0;
  return outlier;
}

bool OutlierRecords::note(std::uint32_t index, const CallReport& report) noexcept {
  Record& record = records_[index];
  // A call that began before its endpoint came into this list was not counted.
  if (record.in_flight > 0) --record.in_flight;
  if (report.outcome == CallOutcome::kIgnored || report.outcome == CallOutcome::kOvertaken) return false;
  if (record.calls == 0) record.window_began = report.now;
  const bool failed = report.outcome == CallOutcome::kFailure;
  const bool silent = failed && report.timed_out && report.latency >= kSilence &&
                      record.succeeded_at <= report.now - report.latency;
  record.failures_in_a_row = failed ? record.failures_in_a_row + 1 + (silent ? record.in_flight : 0) : 0;
  if (!failed) record.succeeded_at = report.now;
  ++record.calls;
  record.failures += static_cast<std::uint32_t>(failed);
  record.latency_sum += static_cast<double>(report.latency.count());
  const bool has_served = record.succeeded_at != TimePoint::min();
  const std::uint32_t most =
      has_served ? options_.failures_in_a_row : std::min(options_.failures_in_a_row, kFirstFailures);
  bool outlier = most > 0 && record.failures_in_a_row >= most;
  if (report.now - record.window_began >= options_.window) outlier = end_window(record) || outlier;
  return outlier;
}

}  // namespace weft::detail
