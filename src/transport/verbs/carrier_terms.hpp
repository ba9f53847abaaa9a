// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "transport/verbs/limits.hpp"
#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/result.hpp"

namespace weft::detail::verbs_carrier {

/// Terms that an end sends in its address, whichever way its queue pair is connected, little-endian:
///
///      0        1        2        3        4        5        6        7
///  0 | its longest message               | how many may be sent to it        |
struct CarrierTerms {
  static constexpr std::size_t kEncodedBytes = 8;

  std::uint32_t message_bytes = 0;
  std::uint32_t granted = 0;

  void encode(std::byte* to) const noexcept {
    store_le(to, message_bytes);
    store_le(to + 4, granted);
  }
  /// Takes at least kEncodedBytes. Errors: kInvalidArgument for invalid terms.
  static Result<CarrierTerms> decode(Bytes from) {
    const CarrierTerms terms{load_le<std::uint32_t>(from.data()), load_le<std::uint32_t>(from.data() + 4)};
    if (terms.message_bytes < kMessageBytesMin || terms.message_bytes > kMessageBytesMax ||
        terms.granted < kCreditsMin || terms.granted > kCreditsMax) {
      return Status{StatusCode::kInvalidArgument, Layer::kTransport,
                    "the peer's RDMA address has impossible messages or credits"};
    }
    return terms;
  }
};

}  // namespace weft::detail::verbs_carrier
