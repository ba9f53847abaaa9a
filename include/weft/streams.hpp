// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/requirements.hpp"
// A class that is never destroyed through its base has a protected destructor, which g++ takes for accessible
// if the class has friends.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"

/// Streams of items in both directions, for coroutines and for threads that block.

#include "weft/detail/functions/blocking_reader.hpp"  // IWYU pragma: export
#include "weft/detail/functions/blocking_stream.hpp"  // IWYU pragma: export
#include "weft/detail/functions/blocking_writer.hpp"  // IWYU pragma: export
#include "weft/detail/functions/client_stream.hpp"    // IWYU pragma: export
#include "weft/detail/functions/reader.hpp"           // IWYU pragma: export
#include "weft/detail/functions/stream.hpp"           // IWYU pragma: export
#include "weft/detail/functions/writer.hpp"           // IWYU pragma: export

#pragma GCC diagnostic pop
