// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/requirements.hpp"
// A class that is never destroyed through its base has a protected destructor, which g++ takes for accessible
// if the class has friends.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"

/// Calls and handlers of methods that are known at run time, with messages in bytes.

#include "weft/detail/untyped/call.hpp"     // IWYU pragma: export
#include "weft/detail/untyped/handler.hpp"  // IWYU pragma: export
#include "weft/detail/untyped/method.hpp"   // IWYU pragma: export
#include "weft/detail/untyped/stream.hpp"   // IWYU pragma: export

#pragma GCC diagnostic pop
