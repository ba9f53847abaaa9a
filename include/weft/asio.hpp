// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/requirements.hpp"
// A class that is never destroyed through its base has a protected destructor, which g++ takes for accessible
// if the class has friends.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"

/// Calls from asio's coroutines, and asio's operations in those of a loop. Its target is weft::adapters.

#include "weft/detail/adapters/asio.hpp"  // IWYU pragma: export

#pragma GCC diagnostic pop
