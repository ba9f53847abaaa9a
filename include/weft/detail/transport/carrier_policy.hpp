// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace weft {

/// Says whether a carrier is used when both sides could.
enum class CarrierPolicy : std::uint8_t {
  kForbid,   ///< not offered
  kPrefer,   ///< used if it comes up, else the base carrier
  kRequire,  ///< without it the connection ends with kFailedPrecondition
};

}  // namespace weft
