// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace weft::detail::tls {

/// Returns a number for the part of a peer's address that identifies one host: an IPv4 address, or the 64-bit
/// network of an IPv6 address. `endpoint` is a URL, such as "tcp://[::1]:4242". Zero without such an address:
/// all of these are alike.
std::uint64_t address_key(std::string_view endpoint) noexcept;

}  // namespace weft::detail::tls
