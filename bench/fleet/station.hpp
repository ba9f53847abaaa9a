// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>
#include <weft/detail/coro/semaphore.hpp>
#include <weft/weft.hpp>

#include "fleet/plan.hpp"

namespace weft::fleet {

/// Counts how often each call ran, by its number.
class Executions {
 public:
  void ran(std::uint64_t number) {
    if (number >= times_.size()) times_.resize(number + number / 2 + 1);
    ++times_[number];
    ++total_;
  }
  unsigned times(std::uint64_t number) const { return number < times_.size() ? times_[number] : 0; }
  std::uint64_t total() const { return total_; }

 private:
  std::vector<std::uint8_t> times_;
  std::uint64_t total_ = 0;
};

/// A place of the fleet where a server is, or is not for a while. Its counters go on over all servers that
/// were there. Thread: the network's loop's, between turns.
class Station {
 public:
  Station(Loop& loop, const Plan& plan, SimulatedHost host, Executions& executions, Logger& logger);

  /// Handles a call: takes one of the workers for the time of the work.
  Task<std::uint64_t> work(std::uint64_t number);
  /// The same without work.
  std::uint64_t answer(std::uint64_t number);

  /// Starts a server; the one before is gone.
  void serve();
  /// The server dies; its peers are told.
  void crash();
  /// The host goes dark with its server.
  void power_off();
  void power_on() { host_.power_on(); }
  /// Stops the server gracefully; clear() when it has.
  void stop(Duration grace) { server_->stop(grace); }
  bool stopped() const { return server_ == nullptr || server_->stopped(); }
  /// Ends the server, whatever it does.
  void clear();

  SimulatedHost& host() { return host_; }
  const std::string& url() const { return url_; }
  /// Sums of all servers that were here.
  ServerStats stats() const;

 private:
  Loop& loop_;
  const Plan& plan_;
  SimulatedHost host_;
  Executions& executions_;
  Logger& logger_;
  const std::string url_;
  Semaphore workers_;
  Transports transports_;
  ServerStats before_;
  std::unique_ptr<Server> server_;
};

}  // namespace weft::fleet
