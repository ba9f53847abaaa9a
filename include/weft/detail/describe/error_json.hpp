// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "weft/detail/base/status.hpp"

namespace weft::detail {

/// Returns the JSON that tells a caller about `failure`: its code and message, whether to try again and when,
/// and whether the call has certainly not run.
std::string error_json(const Status& failure);

}  // namespace weft::detail
