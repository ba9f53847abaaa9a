// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

namespace weft::detail {

class CallsIn;

/// Returns the lower of two rates, where zero means no limit.
constexpr std::uint64_t least_rate(std::uint64_t one, std::uint64_t other) noexcept {
  return one == 0 || other == 0 ? one + other : std::min(one, other);
}

/// Limits the attachment of the answer to the call `id`, before or after it was given, to `rate` bytes per
/// second from now on; zero, or the id of no call, has no effect. Thread: the connection's loop.
void keep_answer_to_rate(CallsIn& calls, std::uint64_t id, std::uint64_t rate);

}  // namespace weft::detail
