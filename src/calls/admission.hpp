// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "calls/refusals.hpp"
#include "weft/detail/calls/limits.hpp"
#include "weft/detail/memory/arriving_buffer.hpp"
#include "weft/detail/memory/local_budget.hpp"

namespace weft::detail {

/// Memory that a call that is served is charged, in bytes.
struct Charge {
  /// Its record, and what is kept of its request; counts in the connection and the process.
  std::size_t kept = 0;
  /// Its attachment, in the connection; the attachment's own Buffer counts in the process.
  std::size_t attachment = 0;

  std::size_t in_connection() const { return kept + attachment; }
};

/// Tells whether one who holds `held` may hold `more` when `free` is what nobody holds: at most eight times
/// as much as is free afterwards. One alone may have eight ninths of the memory, and n who want all they can
/// get 8 / (8n + 1) of it each. So there is always room for one who holds little. (Choudhury and Hahne,
/// Dynamic queue length thresholds for shared-memory packet switches, 1998.)
constexpr bool leaves_others_a_share(std::size_t held, std::size_t more, std::size_t free) {
  return more <= free && (held + more) / 8 <= free - more;
}

/// Bounds what the calls of one connection hold at the same time: how many there are, and their memory, of
/// which the connection has its share. Every protocol whose calls are served asks it. Thread: the
/// connection's loop.
class Admission {
 public:
  /// Both outlive it.
  Admission(const RpcLimits& limits, LocalBudget& process) : limits_(limits), process_(process) {}

  /// Takes one call more. With a refusal nothing has changed; otherwise `charge.kept` is reserved in the
  /// process, to be given back by whoever keeps the bytes, and leave() follows.
  std::optional<Refusal> admit(const Charge& charge);
  /// Takes `bytes` more for a call: an answer that waits to be written. They are reserved in the process as
  /// with admit(). False when there is no room for them.
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
  /// Refuses a body or an attachment of `bytes` for which there is no place: before it is received, and while
  /// it is, with what has arrived of it, of which `charged` are reserved already. One for which there is no
  /// place even when nothing else is held is not worth a second try (Retry::kNever).
  std::optional<Refusal> refuse_arriving(std::size_t bytes, std::size_t charged = 0) const;
  /// The same of an attachment of which nothing is here, while others have announced `others` bytes.
  std::optional<Refusal> refuse_announced(std::size_t bytes, std::size_t others) const;
  /// Reserves in the process what has arrived in `memory`, which is its first `arrived` bytes; or says why
  /// not.
  std::optional<Refusal> charge_arriving(ArrivingBuffer& memory, std::size_t arrived) const;

  std::size_t calls() const { return calls_; }

 private:
  bool has_room(std::size_t bytes, std::size_t charged) const {
    return bytes <= limits_.connection_memory_max - bytes_held_ && within_share(bytes, charged);
  }
  /// Refuses `bytes`, which are `all` together with those that were announced before.
  Refusal refusal_of(std::size_t bytes, std::size_t all, std::size_t charged) const;
  /// No end of other calls makes room for one that holds `bytes`.
  bool never_fits(std::size_t bytes) const;
  Refusal too_large(std::size_t bytes) const;
  /// It may hold `bytes` beside what it holds, of which `charged` are reserved already.
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
/// Refusal of an attachment for which there is no memory, as `why` says.
Refusal no_memory_to_land(const Status& why);
/// Returns kResourceExhausted with `text`, said by the layer of calls.
Status exhausted(std::string_view text);

}  // namespace weft::detail
