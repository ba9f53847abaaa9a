// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/answer_body.hpp"

namespace weft::detail {

bool AnswerBody::make(std::size_t bytes, MemoryBudget* budget) {
  if (budget != nullptr && !budget->try_reserve(bytes)) return false;
  try {
    bytes_.resize(bytes);
  } catch (...) {
    if (budget != nullptr) budget->release(bytes);
    throw;
  }
  charged_in_ = budget;
  charged_ = bytes;
  return true;
}

bool AnswerBody::charge_in_place(std::size_t bytes, MemoryBudget& budget) noexcept {
  end_charge();
  bytes_ = {};
  if (!budget.try_reserve(bytes)) return false;
  charged_in_ = &budget;
  charged_ = bytes;
  return true;
}

std::vector<std::byte> AnswerBody::take() && {
  end_charge();
  return std::move(bytes_);
}

void AnswerBody::end_charge() noexcept {
  if (charged_in_ != nullptr) std::exchange(charged_in_, nullptr)->release(charged_);
}

}  // namespace weft::detail
