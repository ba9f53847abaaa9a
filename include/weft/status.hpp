// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/requirements.hpp"
// A class that is never destroyed through its base has a protected destructor, which g++ takes for accessible
// if the class has friends.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"

/// Statuses, results of calls, times, bytes of messages, and the log.

#include "weft/detail/base/bytes.hpp"   // IWYU pragma: export
#include "weft/detail/base/log.hpp"     // IWYU pragma: export
#include "weft/detail/base/result.hpp"  // IWYU pragma: export
#include "weft/detail/base/status.hpp"  // IWYU pragma: export
#include "weft/detail/base/time.hpp"    // IWYU pragma: export

#pragma GCC diagnostic pop
