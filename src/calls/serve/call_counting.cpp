// SPDX-License-Identifier: Apache-2.0
#include "calls/serve/call_counting.hpp"

#include "weft/detail/calls/serve/served_call.hpp"

namespace weft::detail {

const ServedCall* CallCounting::record_of(std::uint64_t id) const noexcept {
  return taking_ != nullptr && *taking_ == id ? nullptr : records_.find(id);
}

MethodCounters& CallCounting::of(const ServedCall* record) noexcept {
  return record != nullptr ? counts_.of(record->method()) : *last_;
}

void CallCounting::refused(std::uint64_t id, StatusCode code) noexcept {
  const ServedCall* const record = record_of(id);
  of(record).refuse(code);
  if (times_ != nullptr) note_end(record, code);
}

void CallCounting::failed(std::uint64_t id, StatusCode code) noexcept {
  const ServedCall* const record = record_of(id);
  of(record).fail(code);
  if (times_ != nullptr) note_end(record, code);
}

void CallCounting::note_end(const ServedCall* record, StatusCode code) noexcept {
  if (record == nullptr) {
    taking_ = nullptr;
    return times_->ended({.method = last_, .received = received_, .code = code, .in_turn = true});
  }
  times_->ended({.method = &of(record),
                 .received = record->request().received,
                 .code = code,
                 .in_turn = record->method().ends_at_once,
                 .waited = record->waited()});
}

}  // namespace weft::detail
