// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Rules and tokens in files that are read again when they change. Its target is weft::access.

#include "weft/detail/access/file_options.hpp"  // IWYU pragma: export
#include "weft/detail/access/policy.hpp"        // IWYU pragma: export
#include "weft/detail/access/tokens.hpp"        // IWYU pragma: export
