// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "weft/detail/base/result.hpp"

namespace weft::detail {

/// Schemes that are known without asking a program which transports it has.
inline constexpr std::array<std::string_view, 6> kKnownSchemes{"tcp",    "unix", "tls",
                                                               "memory", "ucx",  "verbs"};

/// An address where a server listens or a client connects: tcp://host:port, tcp://[::1]:port, unix:///path,
/// memory://name; tls, ucx and verbs as tcp. An address without a scheme, host:port, is one of tcp.
struct Url {
  std::string scheme;
  /// Host for tcp (without brackets), path for unix, name for memory.
  std::string host;
  std::uint16_t port = 0;

  /// Errors: kInvalidArgument says which part is wrong and shows a right one.
  static Result<Url> parse(std::string_view text);
  std::string to_string() const;
  friend bool operator==(const Url&, const Url&) = default;
};

}  // namespace weft::detail
