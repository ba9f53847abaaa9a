// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/memory/local_budget.hpp"

namespace weft::detail {

// Reserves one step more than needed; near the limit only the needed bytes.
bool LocalBudget::take(std::size_t bytes) noexcept {
  const std::size_t missing = bytes - free_;
  if (shared_->try_reserve(missing + step_)) {
    free_ += missing + step_;
    return true;
  }
  if (!shared_->try_reserve(missing)) return false;
  free_ += missing;
  return true;
}

void LocalBudget::give_back() noexcept {
  shared_->release(free_ - step_);
  free_ = step_;
}

}  // namespace weft::detail
