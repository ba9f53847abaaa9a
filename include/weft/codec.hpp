// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/requirements.hpp"
// Classes that nobody destroys by their base have protected destructors, which g++ takes for accessible when
// the class has friends.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"

/// Types of your own in messages, and messages that grow.

#include "weft/detail/codec/compatible.hpp"  // IWYU pragma: export
#include "weft/detail/codec/traits.hpp"      // IWYU pragma: export
#include "weft/detail/coro/is_view.hpp"      // IWYU pragma: export

#pragma GCC diagnostic pop
