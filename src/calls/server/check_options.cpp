// SPDX-License-Identifier: Apache-2.0
#include "calls/server/check_options.hpp"

#include <algorithm>

#include "calls/serve/protocol.hpp"
#include "calls/terms/option_checks.hpp"

namespace weft::detail {

namespace {

Status check_gates(const ServerOptions& options) {
  constexpr std::size_t kCallersMax = std::size_t{1} << 24;
  for (const CallerRate& rate : options.caller_rates) {
    if (Status status = check_rate(rate.rate, "ServerOptions::caller_rates"); !status.ok()) return status;
    if (rate.callers_max == 0 || rate.callers_max > kCallersMax) {
      return misuse("CallerRate::callers_max", "give from 1 to 2^24 callers");
    }
  }
  if (!options.adaptive_limit) return {};
  return check_adaptive(*options.adaptive_limit, "ServerOptions::adaptive_limit");
}

}  // namespace

Status check_options(const ServerOptions& options, bool blocking) {
  if (options.listen.empty()) {
    return misuse("ServerOptions::listen",
                  "a server needs somewhere to listen; give it for example {\"tcp://127.0.0.1:0\"}");
  }
  if (options.threads == 0 && options.loop == nullptr) {
    return misuse("ServerOptions::loop", "a server of no threads needs a loop; give it one, or set threads");
  }
  if (options.threads != 0 && options.loop != nullptr) {
    return misuse("ServerOptions::loop",
                  "a server with threads of its own would not run on this loop; set threads to 0");
  }
  const auto& protocols = options.protocols;
  if (std::find(protocols.begin(), protocols.end(), nullptr) != protocols.end()) {
    return misuse("ServerOptions::protocols",
                  "a null pointer is no protocol; give it for example weft::http()");
  }
  for (const auto& protocol : protocols) {
    if (Status fault = protocol->check(); !fault.ok()) return fault;
  }
  Status status = check_above_zero({{"ServerOptions::connections_max", options.connections_max}});
  if (status.ok() && blocking) {
    status = check_above_zero({{"ServerOptions::worker_threads", options.worker_threads},
                               {"ServerOptions::worker_queue_max", options.worker_queue_max}});
  }
  if (status.ok()) status = check_threads("ServerOptions::threads", options.threads);
  if (status.ok() && blocking) {
    status = check_threads("ServerOptions::worker_threads", options.worker_threads);
  }
  if (status.ok() && blocking) {
    status = check_threads("ServerOptions::worker_threads_max", options.worker_threads_max);
  }
  if (status.ok()) {
    status = check_above_zero({{"ServerOptions::peer_call_timeout", options.peer_call_timeout},
                               {"ServerOptions::loop_held_from", options.loop_held_from},
                               {"ServerOptions::slow_call_from", options.slow_call_from}});
  }
  if (status.ok()) status = check_gates(options);
  return status.ok() ? check_limits(options.limits) : status;
}

}  // namespace weft::detail
