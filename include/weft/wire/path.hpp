// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/base/bytes.hpp"
#include "weft/base/result.hpp"
#include "weft/wire/hello.hpp"

namespace weft::wire {

/// Step that a path frame tells. The numbers are the ones on the wire.
enum class PathStep : std::uint8_t {
  kAddress = 1,  ///< how the sender is reached on the path; once
  kUp = 2,       ///< the sender heard the other side on the path; its verdict, once
  kDown = 3,     ///< the path is not to be used; its verdict, once, with the reason as text
  kReady = 4,    ///< the sender's end is connected, and may be sent to; on paths that need to know, once
};

/// The body of a path frame: how two sides that both offered a data path in their hellos bring it up. The
/// path is used exactly when both verdicts are kUp; until both are there neither side sends any other frame.
///
///      0        1        2        3        4        5        6        7
///  0 | step   | path   | zero                                              |
///  8 | address or reason, to the end of the body                           |
struct PathMessage {
  PathStep step{};
  DataPath path{};
  /// kAddress: in the path's own layout. kDown: why, for people. kUp, kReady: empty. Points into what was
  /// decoded.
  std::string_view text;
};

inline constexpr std::size_t kPathTextMax = 8192;
inline constexpr std::size_t kPathBodyMax = 8 + kPathTextMax;

/// A whole path frame, head and all, without checksum. A longer text than kPathTextMax is asserted.
std::string encode_path_frame(const PathMessage& message);

/// Reads the body of a path frame. Errors: kInvalidArgument says what is wrong with it.
Result<PathMessage> decode_path_body(Bytes body);

}  // namespace weft::wire
