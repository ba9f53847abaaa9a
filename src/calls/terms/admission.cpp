// SPDX-License-Identifier: Apache-2.0
#include "calls/terms/admission.hpp"

#include <string>

namespace weft::detail {

Status exhausted(std::string_view text) {
  return {StatusCode::kResourceExhausted, Layer::kRpc, text};
}

Refusal over_process_memory() {
  return {RefusalReason::kOverProcessMemory,
          exhausted("what the server's calls keep fills its memory (process_memory_max)")};
}

Refusal no_memory_to_land(const Status& why) {
  return {RefusalReason::kOverProcessMemory, why.with_context("an attachment (process_memory_max)")};
}

namespace {

Refusal over_share() {
  return {RefusalReason::kOverProcessMemory,
          exhausted("what this connection's calls keep is its share of the server's memory "
                    "(process_memory_max), the rest of which is left to others")};
}

}  // namespace

std::optional<Refusal> Admission::admit(const Charge& charge) {
  if (calls_ >= limits_.calls_in_flight_max) [[unlikely]] {
    return Refusal{RefusalReason::kOverCallsInFlight,
                   exhausted("the server works on as many calls of this connection as it may "
                             "(calls_in_flight_max); those that were cancelled count until they end")};
  }
  const std::size_t room = limits_.connection_memory_max - bytes_held_;
  if (room < charge.kept || room - charge.kept < charge.attachment) [[unlikely]] {
    if (never_fits(charge.in_connection())) return too_large(charge.in_connection());
    return Refusal{RefusalReason::kOverConnectionMemory,
                   exhausted("the requests that this connection's calls keep fill its memory "
                             "(connection_memory_max)")};
  }
  if (!within_share(charge.in_connection(), charge.attachment)) [[unlikely]] {
    if (never_fits(charge.in_connection())) return too_large(charge.in_connection());
    return charge.kept > process_.free() ? over_process_memory() : over_share();
  }
  if (!process_.try_reserve(charge.kept)) [[unlikely]] {
    return over_process_memory();
  }
  ++calls_;
  bytes_held_ += charge.in_connection();
  return std::nullopt;
}

bool Admission::admit_answer(std::size_t bytes) {
  const bool fits = bytes <= limits_.connection_memory_max - bytes_held_ && within_share(bytes, 0) &&
                    process_.try_reserve(bytes);
  if (fits) bytes_held_ += bytes;
  return fits;
}

std::optional<Refusal> Admission::refuse_arriving(std::size_t bytes, std::size_t charged) const {
  if (has_room(bytes, charged)) return std::nullopt;
  return refusal_of(bytes, bytes, charged);
}

std::optional<Refusal> Admission::refuse_announced(std::size_t bytes, std::size_t others) const {
  if (has_room(others + bytes, 0)) return std::nullopt;
  return refusal_of(bytes, others + bytes, 0);
}

Refusal Admission::refusal_of(std::size_t bytes, std::size_t all, std::size_t charged) const {
  if (never_fits(bytes)) return too_large(bytes);
  if (all <= limits_.connection_memory_max - bytes_held_) {
    return all - charged > process_.free() ? over_process_memory() : over_share();
  }
  return {RefusalReason::kOverConnectionMemory,
          exhausted("the attachments and requests that this connection's calls keep fill its memory "
                    "(connection_memory_max)")};
}

bool Admission::never_fits(std::size_t bytes) const {
  return bytes > limits_.connection_memory_max ||
         !leaves_others_a_share(0, bytes, process_.shared()->limit());
}

Refusal Admission::too_large(std::size_t bytes) const {
  const bool per_connection = bytes > limits_.connection_memory_max;
  const auto make_text = [&] {
    const std::string of = std::to_string(bytes) + " bytes never fit into the ";
    if (per_connection) {
      return of + "memory that a connection's calls may keep, of " +
             std::to_string(limits_.connection_memory_max) + " bytes (connection_memory_max)";
    }
    return of + "share that one connection may have of the server's memory, eight ninths of " +
           std::to_string(process_.shared()->limit()) + " bytes (process_memory_max)";
  };
  return {per_connection ? RefusalReason::kOverConnectionMemory : RefusalReason::kOverProcessMemory,
          {StatusCode::kResourceExhausted, Layer::kRpc, make_text, 0, Retry::kNever}};
}

std::optional<Refusal> Admission::charge_arriving(ArrivingBuffer& memory, std::size_t arrived) const {
  std::optional<Refusal> refusal = refuse_arriving(arrived, memory.charged());
  if (!refusal && !memory.charge(arrived)) refusal = over_process_memory();
  return refusal;
}

}  // namespace weft::detail
