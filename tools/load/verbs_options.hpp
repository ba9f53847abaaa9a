// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "load/options.hpp"
#include "weft/transport/verbs.hpp"

namespace weft::load {

/// VerbsOptions as a command line makes them.
inline VerbsOptions verbs_options(const RdmaFlags& flags) {
  VerbsOptions options;
  if (!flags.device.empty()) options.devices = {flags.device};
  options.gid_index = flags.gid_index;
  return options;
}

}  // namespace weft::load
