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

void CallCounting::refused(std::uint64_t id, StatusCode code, std::string_view why) noexcept {
  const ServedCall* const record = record_of(id);
  of(record).refuse(code);
  if (times_ != nullptr) note_end(record, code, false, why);
}

void CallCounting::failed(std::uint64_t id, StatusCode code, std::string_view why) noexcept {
  const ServedCall* const record = record_of(id);
  of(record).fail(code);
  if (times_ != nullptr) note_end(record, code, true, why);
}

void CallCounting::note_end(const ServedCall* record, StatusCode code, bool began,
                            std::string_view why) noexcept {
  EndedCalls ended{.method = last_, .received = received_, .code = code, .in_turn = true};
  if (record != nullptr) {
    ended.method = &of(record);
    ended.received = record->request().received;
    ended.in_turn = record->method().ends_at_once;
    ended.waited = record->waited();
    ended.sending_since = record->sending_since();
  } else {
    taking_ = nullptr;
  }
  times_->ended(ended);
  times_->sample_failed(ended, began, why, sink_);
}

}  // namespace weft::detail
