// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/terms/answer_body.hpp"

namespace weft::detail {

bool AnswerBody::make(std::size_t bytes, MemoryBudget* budget) {
  if (budget != nullptr && !budget->try_reserve(bytes)) return false;
  try {
    memory_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
  } catch (...) {
    if (budget != nullptr) budget->release(bytes);
    throw;
  }
  size_ = bytes;
  charged_in_ = budget;
  charged_ = bytes;
  return true;
}

bool AnswerBody::charge_in_place(std::size_t bytes, MemoryBudget& budget) noexcept {
  end_charge();
  memory_.reset();
  size_ = 0;
  if (!budget.try_reserve(bytes)) return false;
  charged_in_ = &budget;
  charged_ = bytes;
  return true;
}

}  // namespace weft::detail
