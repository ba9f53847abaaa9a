// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "perf/beside.hpp"
#include "perf/payload_types.hpp"
#include "weft/weft.hpp"

namespace weft::perf {

/// The answer is a view of the request: it is encoded from where the request was received.
inline std::string_view perf_echo(std::string_view payload) {
  return payload;
}

/// Answers with the request's tag and `answer_bytes` of the pattern.
Result<TaggedPattern> perf_generate(std::string_view payload, std::uint64_t answer_bytes);

/// The attachment goes back from the memory it landed in.
void perf_echo_attachment(CallContext& context);

/// Answers after `for_ns` nanoseconds, with how late a timer of the server's loop was meanwhile.
Task<TimerLateness> perf_timer_lateness(CallContext& context, std::uint64_t for_ns);

/// Answers with an attachment of `answer_bytes` of the pattern, untouched, and with the request's tag beside.
/// The pattern is registered with `registrar`, if there is one.
Result<std::uint64_t> perf_generate_attachment(CallContext& context, std::uint64_t answer_bytes,
                                               const Server* registrar);

/// Sends items without end, each with an attachment of `bytes` of the pattern.
Stream<std::uint64_t> perf_send_attachments(std::uint64_t bytes);
/// Takes such items, and returns how many of the attachments were as they should be.
Task<Result<std::uint64_t>> perf_take_attachments(Reader<std::uint64_t>& items);

/// Sends items of `item_bytes` of the pattern, each with its number as its tag, until nobody takes them.
Stream<TaggedPattern> perf_send_items(std::uint64_t item_bytes);
/// Takes items until their end, and answers how many of them were whole.
Task<Result<std::uint64_t>> perf_take_items(Reader<SeenPayload>& items);
/// Sends each item back.
Task<Result<void>> perf_echo_items(Reader<std::string_view>& items, Writer<std::string_view>& back);

}  // namespace weft::perf
