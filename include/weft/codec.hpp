// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/requirements.hpp"
// A class that is never destroyed through its base has a protected destructor, which g++ takes for accessible
// if the class has friends.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"

/// Types of your own in messages, and messages that grow.

#include "weft/detail/codec/compatible.hpp"  // IWYU pragma: export
#include "weft/detail/codec/traits.hpp"      // IWYU pragma: export
#include "weft/detail/coro/is_view.hpp"      // IWYU pragma: export

#pragma GCC diagnostic pop
