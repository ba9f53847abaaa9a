// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weft::detail {

/// Longest text of a peer that is kept.
inline constexpr std::size_t kPeerTextBytesMax = 4096;

/// Text that a peer sent, made fit for logs and terminals: what is no UTF-8, controls (line ends and escapes
/// among them) and characters that turn the direction of writing become '?', and what is longer than
/// `bytes_max` is cut and ends in " ...". Every text of a peer passes through here once, where it is taken
/// in.
std::string peer_text(std::string_view text, std::size_t bytes_max = kPeerTextBytesMax);

}  // namespace weft::detail
