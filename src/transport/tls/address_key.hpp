// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace weft::detail::tls {

/// Returns a number for the part of a peer's address that one stranger has alone: an IPv4 address, or the 64
/// bits of an IPv6 one that are its network. `endpoint` is a URL, such as "tcp://[::1]:4242". Zero for what
/// has no such address: all of those are alike.
std::uint64_t address_key(std::string_view endpoint) noexcept;

}  // namespace weft::detail::tls
