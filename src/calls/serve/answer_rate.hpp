// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace weft::detail {

class CallsIn;

/// Limits the attachment of the answer to the call `id`, before or after it was given, to `rate` bytes per
/// second from now on; zero, or the id of no call, has no effect. Thread: the connection's loop.
void keep_answer_to_rate(CallsIn& calls, std::uint64_t id, std::uint64_t rate);

}  // namespace weft::detail
