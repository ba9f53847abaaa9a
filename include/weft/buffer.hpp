// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Memory that an attachment is, comes in, or goes out of.

#include "weft/detail/calls/attachment.hpp"        // IWYU pragma: export
#include "weft/detail/calls/attachment_view.hpp"   // IWYU pragma: export
#include "weft/detail/calls/landing_view.hpp"      // IWYU pragma: export
#include "weft/detail/memory/buffer.hpp"           // IWYU pragma: export
#include "weft/detail/transport/memory_lease.hpp"  // IWYU pragma: export
