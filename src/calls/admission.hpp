// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "calls/rejections.hpp"
#include "weft/calls/limits.hpp"
#include "weft/memory/budget.hpp"

namespace weft {

/// Memory that a call that is served is charged, in bytes.
struct Charge {
  /// Kept of its request; counts in the connection and the process.
  std::size_t kept = 0;
  /// Its attachment, in the connection; the attachment's own Buffer counts in the process.
  std::size_t attachment = 0;

  std::size_t in_connection() const { return kept + attachment; }
};

/// Bounds what the calls of one connection hold at the same time: how many there are, and their memory. Every
/// protocol whose calls are served asks it. Thread: the connection's loop.
class Admission {
 public:
  /// Both outlive it.
  Admission(const RpcLimits& limits, MemoryBudget& process) : limits_(limits), process_(process) {}

  /// Takes one call more. With a refusal nothing has changed; otherwise `charge.kept` is reserved in the
  /// process, to be given back by whoever keeps the bytes, and leave() follows.
  std::optional<Refusal> admit(const Charge& charge);
  /// A call, and `bytes` of its, count in the connection no longer.
  void leave(std::size_t bytes) {
    --calls_;
    bytes_held_ -= bytes;
  }
  /// Refuses an attachment of `bytes` for which there is no place, before it is received.
  std::optional<Refusal> refuse_attachment(std::size_t bytes) const;

  std::size_t calls() const { return calls_; }

 private:
  const RpcLimits& limits_;
  MemoryBudget& process_;
  std::size_t calls_ = 0;
  /// Attachments and kept bodies of calls that run; an attachment that the handler took away counts for the
  /// process only.
  std::size_t bytes_held_ = 0;
};

/// kResourceExhausted of the rpc layer.
Status exhausted(std::string_view text);

}  // namespace weft
