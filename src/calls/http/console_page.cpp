// SPDX-License-Identifier: Apache-2.0
#include "calls/http/console_page.hpp"

#include <string>
#include <string_view>

#include "console_text.hpp"

namespace weft::detail::http {

namespace {

/// Allows the style and the script of the page itself, and requests to this server.
constexpr std::string_view kPolicy =
    "default-src 'none'; style-src '" WEFT_CONSOLE_STYLE_HASH "'; script-src '" WEFT_CONSOLE_SCRIPT_HASH
    "'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

}  // namespace

PageContent write_console(const ServerView&, const Request&) {
  return {.type = "text/html; charset=utf-8", .text = std::string{kConsoleText}, .policy = kPolicy};
}

}  // namespace weft::detail::http
