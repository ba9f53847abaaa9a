// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/descriptor.hpp"

namespace weft::detail {

using weft::detail::Descriptor;

}  // namespace weft::detail
