// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Statuses, results of calls, times, bytes of messages, and the log.

#include "weft/detail/base/bytes.hpp"   // IWYU pragma: export
#include "weft/detail/base/log.hpp"     // IWYU pragma: export
#include "weft/detail/base/result.hpp"  // IWYU pragma: export
#include "weft/detail/base/status.hpp"  // IWYU pragma: export
#include "weft/detail/base/time.hpp"    // IWYU pragma: export
