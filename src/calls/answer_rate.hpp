// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace weft::detail {

class CallsIn;

/// Keeps the attachment of the answer to the call of `id`, whether that was given or will be, to `rate` bytes
/// a second from now on; zero, and the id of no call, say nothing. Thread: the connection's loop.
void keep_answer_to_rate(CallsIn& calls, std::uint64_t id, std::uint64_t rate);

}  // namespace weft::detail
