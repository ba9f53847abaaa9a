// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calls/http/page.hpp"

namespace weft::detail::http {

/// Writes the level of the server's logger.
PageContent write_log(const ServerView& server, const Request& request);
/// Sets that level to the value of `level` in the query of `request`.
PageContent set_log(const ServerView& server, const Request& request);

}  // namespace weft::detail::http
