// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace weft::detail {

/// Begin of the text of a failure that a peer reported, other than a handler's own.
inline constexpr std::string_view kPeerSays = "the server says: ";

}  // namespace weft::detail
