// SPDX-License-Identifier: Apache-2.0
#include "calls/client/reachable_url.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace weft::detail {

namespace {

Status unreachable(const Url& url, std::string_view why) {
  return {StatusCode::kInvalidArgument, Layer::kTransport,
          [&] { return "no server can be reached at \"" + url.to_string() + "\": " + std::string{why}; }};
}

/// Returns whether a resolver may know an address of `host`. The resolver judges bytes beyond ASCII.
bool is_host_name(std::string_view host) {
  constexpr std::size_t kNameMax = 253, kLabelMax = 63;
  if (host.ends_with('.')) host.remove_suffix(1);
  if (host.empty() || host.size() > kNameMax) return false;
  std::size_t label = 0;
  for (const char c : host) {
    if (c == '.') {
      if (label == 0) return false;
      label = 0;
      continue;
    }
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    const bool is_other = c == '-' || c == '_' || static_cast<unsigned char>(c) >= 0x80;
    if (!(is_letter || is_other) || ++label > kLabelMax) return false;
  }
  return label > 0;
}

}  // namespace

Status check_reachable(const Url& url) {
  if (url.scheme == "unix" || url.scheme == "memory") return {};
  // Other schemes have rules of their transports' own.
  if (std::ranges::find(kKnownSchemes, url.scheme) == kKnownSchemes.end()) return {};
  if (url.port == 0) return unreachable(url, "no server listens at port 0");
  if (url.host.find(':') == std::string::npos) {
    return is_host_name(url.host) ? Status{} : unreachable(url, "the host is neither a name nor an address");
  }
  in6_addr address{};
  const std::string without_scope = url.host.substr(0, url.host.find('%'));
  if (::inet_pton(AF_INET6, without_scope.c_str(), &address) == 1) return {};
  return unreachable(url, "the host is no IPv6 address");
}

}  // namespace weft::detail
