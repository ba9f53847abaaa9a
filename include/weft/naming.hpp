// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/requirements.hpp"
// A class that is never destroyed through its base has a protected destructor, which g++ takes for accessible
// if the class has friends.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"

/// Names that are watched, and servers that register under one. Its target is weft::naming.

#include "weft/detail/naming/endpoint.hpp"           // IWYU pragma: export
#include "weft/detail/naming/name_options.hpp"       // IWYU pragma: export
#include "weft/detail/naming/name_registration.hpp"  // IWYU pragma: export
#include "weft/detail/naming/name_watch.hpp"         // IWYU pragma: export

#pragma GCC diagnostic pop
