// SPDX-License-Identifier: Apache-2.0
#include "calls/serve/call_counting.hpp"

#include "weft/detail/calls/serve/served_call.hpp"

namespace weft::detail {

MethodCounters& CallCounting::of_call(std::uint64_t id) noexcept {
  if (taking_ != nullptr && *taking_ == id) return *last_;
  const ServedCall* const call = records_.find(id);
  return call != nullptr ? counts_.of(call->method()) : *last_;
}

}  // namespace weft::detail
