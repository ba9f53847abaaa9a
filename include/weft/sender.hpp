// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/requirements.hpp"
// A class that is never destroyed through its base has a protected destructor, which g++ takes for accessible
// if the class has friends.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"

/// Calls as senders, in the shape of std::execution. Its target is weft::adapters.

#include "weft/detail/adapters/sender.hpp"  // IWYU pragma: export

#pragma GCC diagnostic pop
