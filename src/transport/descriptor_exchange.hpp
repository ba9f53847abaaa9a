// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "weft/detail/base/status.hpp"
#include "weft/detail/transport/base_carrier.hpp"
#include "weft/detail/transport/carrier_end.hpp"

namespace weft::detail {

/// Exchanges the descriptors of two carriers' ends over the base carrier on which they are brought up, if
/// that can. Descriptors that the peer passes and nobody asked for are closed, and end the connection.
/// Thread: the loop's.
class DescriptorExchange {
 public:
  /// The ends of this side take at most `most`. `base` outlives this.
  DescriptorExchange(BaseCarrier& base, std::size_t most) noexcept;

  /// Passes what `end` has for the peer's end, with the byte that is sent behind the next `ahead` ones, where
  /// the address of `end` begins. Errors: the base carrier cannot.
  Status pass(CarrierEnd& end, std::size_t ahead);
  /// The peer's address has come: `end` takes what came with it. Errors: `end`'s.
  Status hand_to(CarrierEnd& end);
  /// The peer's address has come, and nobody wants it.
  void drop() noexcept;
  /// Looks whether the peer has passed what nobody asked for. Errors: kInvalidArgument, and then the
  /// connection is to end.
  Status check() const;
  /// Nothing is exchanged any more.
  void end() noexcept;

 private:
  DescriptorPassing* const passing_;
};

}  // namespace weft::detail
