// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace weft::detail {

/// Aborts the process with a message: an exception, `what`, left a callback of the loop.
[[noreturn]] void exception_escaped(const char* what) noexcept;

}  // namespace weft::detail
