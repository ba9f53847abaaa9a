// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "calls/terms/refusals.hpp"
#include "weft/detail/calls/terms/limits.hpp"
#include "weft/detail/memory/arriving_buffer.hpp"
#include "weft/detail/memory/local_budget.hpp"

namespace weft::detail {

/// Memory that a call that is served is charged, in bytes.
struct Charge {
  /// The record, and the parts of its request that are kept; charged to the connection and to the process.
  std::size_t kept = 0;
  /// Its attachment, in the connection; the attachment's own Buffer counts in the process.
  std::size_t attachment = 0;

  std::size_t in_connection() const { return kept + attachment; }
};

/// Returns true if a holder of `held` may take `more` when `free` is unused: at most eight times the amount
/// that is free afterwards. A single holder can have eight ninths of the memory; each of n holders that take
/// all they can gets 8 / (8n + 1) of it. So there is always room for a new holder. (Choudhury and Hahne,
/// Dynamic queue length thresholds for shared-memory packet switches, 1998.)
constexpr bool leaves_others_a_share(std::size_t held, std::size_t more, std::size_t free) {
  return more <= free && (held + more) / 8 <= free - more;
}

/// Limits the calls that one connection holds at the same time: their number, and their memory, within the
/// connection's share. Used by every protocol that serves calls. Thread: the connection's loop.
class Admission {
 public:
  /// Both outlive it.
  Admission(const RpcLimits& limits, LocalBudget& process) : limits_(limits), process_(process) {}

  /// Takes one more call. A refusal changes nothing; otherwise `charge.kept` is reserved in the process, to
  /// be released by the holder of the bytes, and leave() must follow.
  std::optional<Refusal> admit(const Charge& charge);
  /// Takes `bytes` more for a call, for an answer that waits to be written. They are reserved in the process
  /// as by admit(). Returns false when there is no room for them.
  bool admit_answer(std::size_t bytes);
  /// A call, and `bytes` of its, count in the connection no longer.
  void leave(std::size_t bytes) {
    --calls_;
    bytes_held_ -= bytes;
  }
  /// `bytes` more of an attachment that a call receives while it runs count in the connection, where a
  /// refuse_arriving() found room for them; and no longer.
  void hold(std::size_t bytes) { bytes_held_ += bytes; }
  void release(std::size_t bytes) { bytes_held_ -= bytes; }
  /// Refuses a body or an attachment of `bytes` when there is no room for it, before it is received or while
  /// it arrives; `charged` bytes of it are reserved already. The refusal has Retry::kNever if the bytes would
  /// not fit even when nothing else is held.
  std::optional<Refusal> refuse_arriving(std::size_t bytes, std::size_t charged = 0) const;
  /// The same for an attachment that has not begun to arrive, while others have announced `others` bytes.
  std::optional<Refusal> refuse_announced(std::size_t bytes, std::size_t others) const;
  /// Reserves the first `arrived` bytes of `memory` in the process; or returns the refusal.
  std::optional<Refusal> charge_arriving(ArrivingBuffer& memory, std::size_t arrived) const;

  std::size_t calls() const { return calls_; }

 private:
  bool has_room(std::size_t bytes, std::size_t charged) const {
    return bytes <= limits_.connection_memory_max - bytes_held_ && within_share(bytes, charged);
  }
  /// Refuses `bytes`; `all` is their sum with the previously announced bytes.
  Refusal refusal_of(std::size_t bytes, std::size_t all, std::size_t charged) const;
  /// No end of other calls makes room for one that holds `bytes`.
  bool never_fits(std::size_t bytes) const;
  Refusal too_large(std::size_t bytes) const;
  /// The connection may hold `bytes` in addition; `charged` of them are reserved already.
  bool within_share(std::size_t bytes, std::size_t charged) const {
    return leaves_others_a_share(bytes_held_, bytes, process_.free() + charged);
  }

  const RpcLimits& limits_;
  LocalBudget& process_;
  std::size_t calls_ = 0;
  /// Records, attachments and kept bodies of calls that run; an attachment that the handler took away counts
  /// for the process only.
  std::size_t bytes_held_ = 0;
};

/// Refusal of what the process has no memory for.
Refusal over_process_memory();
/// Refusal of an attachment because of `why`: there is no memory for it.
Refusal no_memory_to_land(const Status& why);
/// Returns kResourceExhausted with `text`, said by the layer of calls.
Status exhausted(std::string_view text);

}  // namespace weft::detail
