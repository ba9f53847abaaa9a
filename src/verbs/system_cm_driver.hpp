// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/verbs/cm_driver.hpp"

namespace weft::verbs {

/// The machine's connection manager, by librdmacm. Never ends.
CmDriver& system_cm_driver() noexcept;

}  // namespace weft::verbs
