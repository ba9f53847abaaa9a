// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/requirements.hpp"
// A class that is never destroyed through its base has a protected destructor, which g++ takes for accessible
// if the class has friends.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"

/// Rules and tokens in files that are read again when they change. Its target is weft::access.

#include "weft/detail/access/file_options.hpp"  // IWYU pragma: export
#include "weft/detail/access/policy.hpp"        // IWYU pragma: export
#include "weft/detail/access/tokens.hpp"        // IWYU pragma: export

#pragma GCC diagnostic pop
