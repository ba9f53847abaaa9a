// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/heap_count.hpp"

namespace weft::faults {

using testing::heap_bytes;
using testing::heap_peak_bytes;
using testing::kHeapIsCounted;
using testing::restart_heap_peak;

/// Lets one allocation of the calling thread fail: the `countdown`-th from now on, 0 = none.
void fail_allocation(std::size_t countdown) noexcept;
/// One is still to fail.
bool allocation_still_to_fail() noexcept;

}  // namespace weft::faults
