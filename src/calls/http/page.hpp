// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "calls/serve/server_view.hpp"
#include "weft/detail/http/request.hpp"

namespace weft::detail::http {

/// Text of a page as it is sent.
struct PageContent {
  int status = 200;
  std::string_view type = "application/json";
  std::string text{};
  /// Content-Security-Policy; empty: none.
  std::string_view policy{};
};

/// A page for the operators of a server, read with GET or HEAD. Immutable. Thread: any.
struct Page {
  /// The path, which is also the name under which an Authorizer decides who may read the page.
  std::string_view path;
  /// Writes the page for `request`. Throws std::bad_alloc.
  PageContent (*write)(const ServerView& server, const Request& request);
  /// Changes what the page shows, for PUT or POST, and writes the page; null if nothing can be changed.
  /// Throws std::bad_alloc.
  PageContent (*change)(const ServerView& server, const Request& request) = nullptr;
  /// The name under which an Authorizer decides who may change it.
  std::string_view right_to_change{};
  /// The page has nothing of the server, so that an Authorizer is not asked.
  bool is_empty = false;
};

/// Returns the page at `path`; null if there is none.
const Page* find_page(std::string_view path) noexcept;

/// Returns true if a connection to the endpoint `local`, a URL, comes from this host, and if `host`, the
/// field of the request, names this host. A page that a browser has from elsewhere cannot send such a request
/// with a name of its own (DNS rebinding).
bool is_local(std::string_view local, std::string_view host);

}  // namespace weft::detail::http
