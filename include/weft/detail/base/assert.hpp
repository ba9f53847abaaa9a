// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace weft::detail {

/// Prints `why`, and the place for those who work on Weft, to stderr, then aborts.
[[noreturn]] void assertion_failed(const char* why, const char* file, int line) noexcept;

}  // namespace weft::detail

/// Checks a rule that only a programming error can break; stays on in every build.
/// What a peer or the system can cause is a Status, never an assertion.
#define WEFT_ASSERT(condition, why)                    \
  (static_cast<bool>(condition) ? static_cast<void>(0) \
                                : ::weft::detail::assertion_failed(why, __FILE__, __LINE__))
