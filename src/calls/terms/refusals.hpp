// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>

#include "weft/detail/base/counter.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/calls/terms/refusal_reason.hpp"

namespace weft::detail {

/// A call that is refused before its handler runs: the reason that is counted, and the status for its caller.
struct Refusal {
  RefusalReason reason;
  Status status;
  /// Time to wait before the next try; stored apart because `status` may be unable to carry it.
  Duration retry_after{};
};

/// Counts input from the peers of one loop that was refused. Changed on that loop, read on any thread.
class RefusalCounters {
 public:
  void count(RefusalReason why) { ++counters_[static_cast<std::size_t>(why)]; }
  std::uint64_t get(RefusalReason why) const { return counters_[static_cast<std::size_t>(why)].get(); }

 private:
  std::array<Counter, kRefusalReasons> counters_;
};

/// The protocol violation for which a connection ended; none when it ended for another reason. The death or
/// the silence of the peer, and our own lack of memory, are not violations.
std::optional<RefusalReason> breach_of(const Status& why);

}  // namespace weft::detail
