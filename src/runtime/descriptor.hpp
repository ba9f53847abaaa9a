// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/base/descriptor.hpp"

namespace weft::detail {

using weft::Descriptor;

}  // namespace weft::detail
