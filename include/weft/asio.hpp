// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Calls from asio's coroutines, and asio's operations in those of a loop. Its target is weft::adapters.

#include "weft/detail/adapters/asio.hpp"  // IWYU pragma: export
