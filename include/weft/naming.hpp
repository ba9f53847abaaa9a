// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Names that are watched, and servers that register under one. Its target is weft::naming.

#include "weft/detail/naming/endpoint.hpp"           // IWYU pragma: export
#include "weft/detail/naming/name_options.hpp"       // IWYU pragma: export
#include "weft/detail/naming/name_registration.hpp"  // IWYU pragma: export
#include "weft/detail/naming/name_watch.hpp"         // IWYU pragma: export
