// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Marks a function with a result that must not outlive its object, so that clang warns of a view of a
/// temporary: `auto view = make().bytes();`. g++ has no equivalent.
#if defined(__clang__)
#define WEFT_LIFETIME_BOUND [[clang::lifetimebound]]
#else
#define WEFT_LIFETIME_BOUND
#endif
