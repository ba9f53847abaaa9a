// SPDX-License-Identifier: Apache-2.0
#include "access/private_target.hpp"

#include <algorithm>

namespace weft::detail {

bool is_private(std::string_view target) noexcept {
  const std::size_t colon = target.find("://");
  const std::string_view scheme = colon == target.npos ? "tcp" : target.substr(0, colon);
  if (scheme == "tls" || scheme == "unix" || scheme == "memory") return true;
  const std::string_view address = colon == target.npos ? target : target.substr(colon + 3);
  const std::string_view host = address.substr(0, address.rfind(':'));
  // A name that only begins with 127. may be anybody's.
  const auto is_of_ipv4 = [](char c) { return (c >= '0' && c <= '9') || c == '.'; };
  if (host.starts_with("127.") && std::ranges::all_of(host, is_of_ipv4)) return true;
  return host == "localhost" || host == "[::1]";
}

}  // namespace weft::detail
