// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/result.hpp"
#include "weft/detail/wire/hello.hpp"

namespace weft::detail::wire {

/// Step that a carrier frame tells. The numbers are the ones on the wire.
enum class CarrierStep : std::uint8_t {
  kAddress = 1,  ///< how the sender is reached on the carrier; once
  kUp = 2,       ///< the sender heard the other side on the carrier; its verdict, once
  kDown = 3,     ///< the carrier is not to be used; its verdict, once, with the reason as text
  kReady = 4,    ///< the sender's end is connected, and may be sent to; where that has to be known, once
};

/// The body of a carrier frame: how two sides that both offered a carrier in their hellos bring it up. The
/// carrier is used exactly when both verdicts are kUp; until both are there neither side sends any other
/// frame.
///
///      0        1        2        3        4        5        6        7
///  0 | step   | kind   | zero                                              |
///  8 | address or reason, to the end of the body                           |
struct CarrierMessage {
  CarrierStep step{};
  CarrierKind kind{};
  /// kAddress: in the carrier's own layout. kDown: the reason, for people. kUp, kReady: empty. Points into
  /// the decoded body.
  std::string_view text;
};

inline constexpr std::size_t kCarrierTextMax = 8192;
inline constexpr std::size_t kCarrierBodyMax = 8 + kCarrierTextMax;

/// A whole carrier frame, head and all, without checksum. A longer text than kCarrierTextMax is asserted.
std::string encode_carrier_frame(const CarrierMessage& message);

/// Reads the body of a carrier frame. Errors: kInvalidArgument with the fault.
Result<CarrierMessage> decode_carrier_body(Bytes body);

}  // namespace weft::detail::wire
