// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calls/http/page.hpp"

namespace weft::detail::http {

/// Writes the console: one page of HTML, which reads the other pages and has nothing of the server itself.
PageContent write_console(const ServerView& server, const Request& request);

}  // namespace weft::detail::http
