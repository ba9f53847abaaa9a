// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Calls as senders, in the shape of std::execution. Its target is weft::adapters.

#include "weft/detail/adapters/sender.hpp"  // IWYU pragma: export
