// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weft::detail {

/// Longest text of a peer that is kept.
inline constexpr std::size_t kPeerTextBytesMax = 4096;

/// Makes text from a peer safe for logs and terminals: invalid UTF-8, control characters (line ends and
/// escapes among them) and characters that change the writing direction become '?'. Text longer than
/// `bytes_max` loses its middle, for which " ... " stands: the end has the cause, and each server on the way
/// adds its words at the beginning. Every text from a peer passes through here once, on arrival.
std::string peer_text(std::string_view text, std::size_t bytes_max = kPeerTextBytesMax);

}  // namespace weft::detail
