// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "weft/detail/calls/server/server_options.hpp"

namespace weft::detail {

/// Adds the names of ServerOptions::protocols to `names`, the protocols that TLS accepts by ALPN, so that
/// clients which name one of them are served. An empty list stays empty: ALPN is off then. Throws
/// std::bad_alloc.
void add_protocol_names(const ServerOptions& options, std::vector<std::string>& names);

}  // namespace weft::detail
