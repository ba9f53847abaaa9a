// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace weft::detail {

/// Aborts the process with a message: an exception, `what`, left a callback of the loop.
[[noreturn]] void exception_escaped(const char* what) noexcept;

/// Aborts the process with a message: the exception that is being handled left `callback`, a function of the
/// user's that must not throw. Call only within a catch block.
[[noreturn]] void callback_threw(const char* callback) noexcept;

}  // namespace weft::detail
