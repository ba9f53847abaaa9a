// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/balancing/outlier_records.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "weft/detail/balancing/endpoint_keys.hpp"

namespace weft::detail {

namespace {

/// A call without an answer for this long, to an endpoint that answered no other call meanwhile, speaks for
/// the calls that wait beside it too.
constexpr Duration kSilence = std::chrono::seconds{1};
/// Failures in a row that eject an endpoint which has not answered a call yet.
constexpr std::uint32_t kFirstFailures = 2;
/// Part of Record::recent that one more call replaces.
constexpr double kRecentPart = 1.0 / 16;
/// An endpoint is an example for the others if its failed share is this much of the outlier's at most.
constexpr double kClearlyLower = 1.0 / 3;
/// A run of failures ejects an endpoint if the example's share of failures would cause fewer of such runs in
/// two windows of the outlier.
constexpr double kRunsByChance = 0.01;

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

void OutlierRecords::restart(std::uint32_t index) noexcept {
  const Record before = records_[index];
  forget(index);
  records_[index].last_calls = before.calls + before.last_calls;
  records_[index].last_failures = before.failures + before.last_failures;
}

double OutlierRecords::Record::failed_share() const noexcept {
  const double all = calls_of_two_windows();
  return all == 0 ? 0 : (static_cast<double>(failures) + last_failures) / all;
}

// As if one more call had failed by a tenth: a share of zero after few calls says little.
double OutlierRecords::Record::cautious_failed_share() const noexcept {
  return (static_cast<double>(failures) + last_failures + 0.1) / (calls_of_two_windows() + 1);
}

// Failures that all endpoints have in common are no reason to leave one of them out. With a share of 0.1 each
// of them fails five times in a row once in 100,000 calls, which may be each minute.
bool OutlierRecords::looks_well(std::uint32_t index, std::uint32_t outlier) const noexcept {
  const Record& record = records_[index];
  if (record.failures_in_a_row != 0) return false;
  const Record& worse = records_[outlier];
  const bool is_by_run = worse.has_served() && !worse.is_outlier_by_window;
  if (is_by_run) {
    const double runs =
        worse.calls_of_two_windows() * std::pow(record.cautious_failed_share(), worse.failures_in_a_row);
    if (runs > kRunsByChance) return false;
  }
  const double share = worse.failed_share();
  const bool is_slow_only = worse.failures_in_a_row == 0 && share < options_.failure_share;
  const double level = worse.has_served() ? std::max(worse.recent, share) : 1;
  const double most =
      is_slow_only ? options_.failure_share : std::min(options_.failure_share, level * kClearlyLower);
  return record.failed_share() <= most;
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
  record.last_calls = std::exchange(record.calls, 0);
  record.last_failures = std::exchange(record.failures, 0);
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
  const std::uint32_t speaks_for = 1 + (silent ? record.in_flight : 0);
  record.failures_in_a_row = failed ? record.failures_in_a_row + speaks_for : 0;
  const double kept = speaks_for == 1 ? 1 - kRecentPart : std::pow(1 - kRecentPart, speaks_for);
  record.recent = record.recent * kept + (failed ? 1 - kept : 0);
  if (!failed) record.succeeded_at = report.now;
  ++record.calls;
  record.failures += static_cast<std::uint32_t>(failed);
  record.latency_sum += static_cast<double>(report.latency.count());
  const std::uint32_t most =
      record.has_served() ? options_.failures_in_a_row : std::min(options_.failures_in_a_row, kFirstFailures);
  record.is_outlier_by_window = report.now - record.window_began >= options_.window && end_window(record);
  return record.is_outlier_by_window || (most > 0 && record.failures_in_a_row >= most);
}

}  // namespace weft::detail
