// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Types of your own in messages, and messages that grow.

#include "weft/detail/codec/compatible.hpp"  // IWYU pragma: export
#include "weft/detail/codec/traits.hpp"      // IWYU pragma: export
#include "weft/detail/coro/is_view.hpp"      // IWYU pragma: export
