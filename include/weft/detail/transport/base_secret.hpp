// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "weft/detail/base/bytes.hpp"

namespace weft::detail {

/// A secret known only to the two ends of a base carrier. Belongs to that carrier.
class BaseSecret {
 public:
  /// Fills `into` with bytes that are made of the secret and of `purpose`: the same at both ends, and of no
  /// help in guessing those of another purpose. False when that fails.
  virtual bool derive(std::string_view purpose, MutableBytes into) noexcept = 0;

 protected:
  ~BaseSecret() = default;
};

}  // namespace weft::detail
