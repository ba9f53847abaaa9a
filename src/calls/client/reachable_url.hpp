// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/status.hpp"
#include "weft/detail/transport/url.hpp"

namespace weft::detail {

/// Returns the reason why no server can ever be reached at `url`; ok when the text alone does not tell. A
/// server may listen at port 0, but no client connects to that port. Errors: kInvalidArgument.
Status check_reachable(const Url& url);

}  // namespace weft::detail
