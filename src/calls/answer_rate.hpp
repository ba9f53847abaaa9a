// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

namespace weft::detail {

class CallsIn;

/// Returns the lower one of two rates, of which zero is none.
constexpr std::uint64_t least_rate(std::uint64_t one, std::uint64_t other) noexcept {
  return one == 0 || other == 0 ? one + other : std::min(one, other);
}

/// Keeps the attachment of the answer to the call of `id`, whether that was given or will be, to `rate` bytes
/// a second from now on; zero, and the id of no call, say nothing. Thread: the connection's loop.
void keep_answer_to_rate(CallsIn& calls, std::uint64_t id, std::uint64_t rate);

}  // namespace weft::detail
