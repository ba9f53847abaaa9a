// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace weft::detail {

/// Says that an exception left a loop's callback, and what it was, then ends the process.
[[noreturn]] void exception_escaped(const char* what) noexcept;

}  // namespace weft::detail
