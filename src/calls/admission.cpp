// SPDX-License-Identifier: Apache-2.0
#include "calls/admission.hpp"

namespace weft {

Status exhausted(std::string_view text) {
  return {StatusCode::kResourceExhausted, Layer::kRpc, text};
}

std::optional<Refusal> Admission::admit(const Charge& charge) {
  if (calls_ >= limits_.calls_in_flight_max) [[unlikely]] {
    return Refusal{Rejection::kOverCallsInFlight,
                   exhausted("the server works on as many calls of this connection as it may "
                             "(calls_in_flight_max); those that were cancelled count until they end")};
  }
  const std::size_t room = limits_.connection_memory_max - bytes_held_;
  if (room < charge.kept || room - charge.kept < charge.attachment) [[unlikely]] {
    return Refusal{Rejection::kOverConnectionMemory,
                   exhausted("the requests that this connection's calls keep fill its memory "
                             "(connection_memory_max)")};
  }
  if (charge.kept != 0 && !process_.try_reserve(charge.kept)) [[unlikely]] {
    return Refusal{Rejection::kOverProcessMemory,
                   exhausted("what the server's calls keep fills its memory (process_memory_max)")};
  }
  ++calls_;
  bytes_held_ += charge.in_connection();
  return std::nullopt;
}

std::optional<Refusal> Admission::refuse_attachment(std::size_t bytes) const {
  if (bytes <= limits_.connection_memory_max - bytes_held_) return std::nullopt;
  return Refusal{Rejection::kOverConnectionMemory,
                 exhausted("the attachments and requests that this connection's calls keep fill its "
                           "memory (connection_memory_max)")};
}

}  // namespace weft
