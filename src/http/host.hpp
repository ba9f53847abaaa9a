// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace weft::detail::http {

/// Returns true for a host with or without a port: a name of letters, digits and "-._~", which IPv4 addresses
/// are too, or an IPv6 address in brackets, then perhaps ':' and a port up to 65535. Stricter than RFC 3986,
/// 3.2.2: no percent encoding, no sub-delimiters, no later address formats, no user, no empty host or port.
bool is_host_and_port(std::string_view text) noexcept;

}  // namespace weft::detail::http
