// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "weft/detail/base/status.hpp"
#include "weft/detail/transport/base_carrier.hpp"
#include "weft/detail/transport/carrier_end.hpp"

namespace weft::detail {

/// Exchanges the descriptors of two carriers' ends over the base carrier on which they are brought up, if it
/// supports that. Unexpected descriptors are closed, and end the connection. Thread: the loop's.
class DescriptorExchange {
 public:
  /// The ends of this side take at most `most`. `base` outlives this.
  DescriptorExchange(BaseCarrier& base, std::size_t most) noexcept;

  /// Passes what `end` has for the peer's end, with the byte that is sent behind the next `ahead` ones, where
  /// the address of `end` begins. Errors: the base carrier cannot.
  Status pass(CarrierEnd& end, std::size_t ahead);
  /// Called when the peer's address has arrived: `end` takes the descriptors that came with it. Errors: see
  /// `end`.
  Status hand_to(CarrierEnd& end);
  /// Called when the peer's address has arrived and is not used.
  void drop() noexcept;
  /// Checks for unexpected descriptors. Errors: kInvalidArgument; the caller then ends the connection.
  Status check() const;
  /// Nothing is exchanged any more.
  void end() noexcept;

 private:
  DescriptorPassing* const passing_;
};

}  // namespace weft::detail
