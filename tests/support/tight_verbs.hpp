// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/transport/verbs.hpp"

namespace weft::testing {

/// Returns as little credit, as small messages and as few work requests as there may be, and nothing inline:
/// whatever can have to wait does.
inline VerbsOptions tight_verbs() {
  VerbsOptions options;
  options.message_bytes = 1024;
  options.block_bytes = 8 * 1024;
  options.credits_min = 4;
  options.credits_max = 5;
  options.sends_max = 2;
  options.inline_bytes = 0;
  return options;
}

}  // namespace weft::testing
