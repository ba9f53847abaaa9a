// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/requirements.hpp"
// A class that is never destroyed through its base has a protected destructor, which g++ takes for accessible
// if the class has friends.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"

/// Memory that an attachment is, comes in, or goes out of.

#include "weft/detail/calls/terms/attachment.hpp"       // IWYU pragma: export
#include "weft/detail/calls/terms/attachment_view.hpp"  // IWYU pragma: export
#include "weft/detail/calls/terms/landing_view.hpp"     // IWYU pragma: export
#include "weft/detail/memory/buffer.hpp"                // IWYU pragma: export
#include "weft/detail/transport/memory_lease.hpp"       // IWYU pragma: export

#pragma GCC diagnostic pop
