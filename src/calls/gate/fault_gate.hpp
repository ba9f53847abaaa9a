// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "calls/terms/fault_log.hpp"
#include "calls/terms/refusals.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/transport/connection.hpp"

namespace weft::detail {

/// Lets the faults of one connection into the log of faults: one a second, the rest as a number. So a peer
/// that does much wrong costs no lock and no text for each of it. Thread: the connection's loop.
class FaultGate {
 public:
  void note(FaultLog& log, const Connection& connection, RefusalReason reason, const Status& why,
            TimePoint now);
  /// The connection ends: hands over the number of suppressed faults.
  void close(FaultLog& log, const Connection& connection);

 private:
  /// Faults are only counted until then; the log is not asked.
  TimePoint quiet_until_{};
  std::uint64_t kept_back_ = 0;
};

}  // namespace weft::detail
