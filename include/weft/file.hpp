// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Files that are read as attachments.

#include "weft/detail/files/file.hpp"  // IWYU pragma: export
