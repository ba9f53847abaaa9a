// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Marks a function whose result must not outlive its object, so that clang warns of a view of a temporary:
/// `auto view = make().bytes();`. g++ has nothing that says it.
#if defined(__clang__)
#define WEFT_LIFETIME_BOUND [[clang::lifetimebound]]
#else
#define WEFT_LIFETIME_BOUND
#endif
