// SPDX-License-Identifier: Apache-2.0
#include "calls/gate/fault_gate.hpp"

#include <new>
#include <string>
#include <utility>

namespace weft::detail {

void FaultGate::note(FaultLog& log, const Connection& connection, RefusalReason reason, const Status& why,
                     TimePoint now) {
  ++kept_back_;
  if (now < quiet_until_) return;
  quiet_until_ = now + FaultLog::kInterval;
  try {
    const std::string text = std::string{to_string(reason)} + ": " + why.to_string();
    const std::string endpoint = connection.remote_endpoint();
    log.note(endpoint, text, std::exchange(kept_back_, 0), now);
  } catch (const std::bad_alloc&) {
    // It is counted; the log does without.
  }
}

void FaultGate::close(FaultLog& log, const Connection& connection) {
  if (kept_back_ == 0) return;
  try {
    log.keep_back(connection.remote_endpoint(), kept_back_);
  } catch (const std::bad_alloc&) {
    // They are counted; the log does without.
  }
}

}  // namespace weft::detail
