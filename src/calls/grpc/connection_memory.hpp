// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "calls/terms/admission.hpp"
#include "weft/detail/memory/local_budget.hpp"

namespace weft::detail::grpc {

/// Memory of messages that one connection keeps: received parts of messages, and messages that wait to be
/// sent. Counts in the connection's share of the server's memory. Thread: the connection's loop.
class ConnectionMemory {
 public:
  /// Both outlive it.
  ConnectionMemory(Admission& admission, LocalBudget& process) noexcept
      : admission_(admission), process_(process) {}
  ConnectionMemory(const ConnectionMemory&) = delete;
  ConnectionMemory& operator=(const ConnectionMemory&) = delete;

  /// Takes `bytes`, or nothing.
  bool reserve(std::size_t bytes) {
    if (admission_.refuse_arriving(bytes) || !process_.try_reserve(bytes)) return false;
    admission_.hold(bytes);
    return true;
  }
  void release(std::size_t bytes) noexcept {
    admission_.release(bytes);
    process_.release(bytes);
  }

 private:
  Admission& admission_;
  LocalBudget& process_;
};

}  // namespace weft::detail::grpc
