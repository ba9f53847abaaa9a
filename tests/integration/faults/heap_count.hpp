// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/heap_count.hpp"

namespace weft::faults {

using testing::allocation_still_to_fail;
using testing::fail_allocation;
using testing::heap_bytes;
using testing::heap_peak_bytes;
using testing::kHeapIsCounted;
using testing::restart_heap_peak;

}  // namespace weft::faults
