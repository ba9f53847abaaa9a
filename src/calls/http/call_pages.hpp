// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calls/http/page.hpp"

namespace weft::detail::http {

/// Writes samples of calls that were slow or failed, the latest first, with the parts of their time.
PageContent write_calls(const ServerView& server, const Request& request);

}  // namespace weft::detail::http
