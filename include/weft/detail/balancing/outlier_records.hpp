// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/detail/balancing/outlier_options.hpp"

namespace weft::detail {

/// Evidence of what endpoints do to calls: failures in a row, and how many failed, and how long they took, in
/// a window. Windows of an endpoint follow each other; the mean latency of the last whole one stands for it
/// when others are compared. All but carry_over() is O(1).
class OutlierRecords {
 public:
  explicit OutlierRecords(const OutlierOptions& options) noexcept : options_(options) {}

  void carry_over(std::span<const std::uint32_t> before);
  /// Records the begin of a call.
  void begun(std::uint32_t index) noexcept { ++records_[index].in_flight; }
  /// Records the end of a call. Returns true if the endpoint must be ejected now.
  bool note(std::uint32_t index, const CallReport& report) noexcept;
  /// Returns true if `index` is clearly better than `outlier`: its last call did not fail, in this window and
  /// the one before the failed share of its calls was at most a third of the outlier's, and that share would
  /// hardly cause as long a run of failures as the outlier had.
  bool looks_well(std::uint32_t index, std::uint32_t outlier) const noexcept;
  /// Judges an endpoint anew. The share of its calls that failed is kept for looks_well().
  void restart(std::uint32_t index) noexcept;
  /// Forgets every call of an endpoint that has ended.
  void forget(std::uint32_t index) noexcept;

 private:
  struct Record {
    TimePoint window_began{};
    double latency_sum = 0;
    double last_mean = 0;  // of the window before, zero without one
    std::uint32_t calls = 0;
    std::uint32_t failures = 0;
    std::uint32_t last_calls = 0;  // of the window before, or before a restart
    std::uint32_t last_failures = 0;
    std::uint32_t failures_in_a_row = 0;
    std::uint32_t in_flight = 0;
    /// Failed share of the last calls; each call counts a sixteenth.
    double recent = 0;
    TimePoint succeeded_at = TimePoint::min();
    /// The last call ended a window that is an outlier by itself.
    bool is_outlier_by_window = false;

    bool has_served() const noexcept { return succeeded_at != TimePoint::min(); }
    /// Failed share of the calls of two windows; zero without calls.
    double failed_share() const noexcept;
    /// Returns an estimate of that share which is above zero, and the more so after few calls.
    double cautious_failed_share() const noexcept;
    double calls_of_two_windows() const noexcept { return static_cast<double>(calls) + last_calls; }
  };

  bool end_window(Record& record) noexcept;
  bool is_slow(const Record& record, double mean) noexcept;
  void set_mean(Record& record, double mean) noexcept;

  const OutlierOptions options_;
  std::vector<Record> records_;
  double sum_of_means_ = 0;
  std::size_t means_ = 0;
};

}  // namespace weft::detail
