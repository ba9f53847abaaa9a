// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/limits/retry_budget.hpp"

#include <algorithm>

#include "weft/detail/base/assert.hpp"

namespace weft {

RetryBudget::RetryBudget(RetryBudgetOptions options, TimePoint now) noexcept
    : options_(options),
      saved_(std::min(options.saved_max, std::max(1.0, options.floor_per_second))),
      at_(now) {
  WEFT_ASSERT(options.share_of_calls >= 0 && options.share_of_calls <= 10,
              "RetryBudgetOptions::share_of_calls is not from 0 to 10");
  WEFT_ASSERT(options.floor_per_second >= 0 && options.floor_per_second <= 1e6,
              "RetryBudgetOptions::floor_per_second is not from 0 to 1e6");
  WEFT_ASSERT(options.saved_max >= 1, "RetryBudgetOptions::saved_max is below 1");
}

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
