// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/limits/retry_budget.hpp"

#include <algorithm>
#include <cmath>

namespace weft {

namespace {

/// Nearest number within the range; for NaN the default.
double within(double number, double low, double high, double usual) noexcept {
  return std::isnan(number) ? usual : std::clamp(number, low, high);
}

RetryBudgetOptions usable(const RetryBudgetOptions& options) noexcept {
  constexpr RetryBudgetOptions kUsual;
  constexpr double kMost = 1e18;
  return {.share_of_calls = within(options.share_of_calls, 0, 10, kUsual.share_of_calls),
          .floor_per_second = within(options.floor_per_second, 0, 1e6, kUsual.floor_per_second),
          .saved_max = within(options.saved_max, 1, kMost, kUsual.saved_max)};
}

}  // namespace

RetryBudget::RetryBudget(RetryBudgetOptions options, TimePoint now) noexcept
    : options_(usable(options)),
      saved_(std::min(options_.saved_max, std::max(1.0, options_.floor_per_second))),
      at_(now) {}

void RetryBudget::on_calls(std::uint64_t calls) noexcept {
  saved_ = std::min(options_.saved_max, saved_ + options_.share_of_calls * static_cast<double>(calls));
}

bool RetryBudget::try_retry(TimePoint now) noexcept {
  saved_ = available(now);
  at_ = std::max(at_, now);
  if (saved_ < 1) return false;
  saved_ -= 1;
  return true;
}

double RetryBudget::available(TimePoint now) const noexcept {
  if (now <= at_) return saved_;
  const double seconds = std::chrono::duration<double>(now - at_).count();
  return std::min(options_.saved_max, saved_ + seconds * options_.floor_per_second);
}

}  // namespace weft
