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
  /// Returns true without evidence against an endpoint: its last call did not fail, nor did a large share of
  /// its calls in this window.
  bool looks_well(std::uint32_t index) const noexcept;
  /// Forgets what an endpoint did, so that it is judged anew.
  void forget(std::uint32_t index) noexcept;

 private:
  struct Record {
    TimePoint window_began{};
    double latency_sum = 0;
    double last_mean = 0;  // of the window before, zero when there is none
    std::uint32_t calls = 0;
    std::uint32_t failures = 0;
    std::uint32_t failures_in_a_row = 0;
    std::uint32_t in_flight = 0;
    TimePoint succeeded_at = TimePoint::min();
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
