// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/verbs/driver.hpp"

namespace weft::testing {

/// The devices that the tests of a program run on: simulated ones, or the machine's, as the program was
/// linked (weft_simulated_devices or weft_system_devices).
verbs::Driver& rdma_devices();

}  // namespace weft::testing
