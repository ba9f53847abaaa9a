// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace weft::detail {

/// Returns true if bytes to `target`, a URL, or a host and port of TCP, cannot be read by others: they are
/// encrypted, or stay on this machine.
bool is_private(std::string_view target) noexcept;

}  // namespace weft::detail
