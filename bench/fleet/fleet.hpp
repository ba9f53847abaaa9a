// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <vector>
#include <weft/weft.hpp>

#include "fleet/plan.hpp"
#include "fleet/station.hpp"
#include "load/histogram.hpp"

namespace weft::fleet {

/// Outcomes of the calls so far.
struct Totals {
  std::uint64_t started = 0;
  std::uint64_t ended = 0;
  std::uint64_t succeeded = 0;
  std::uint64_t unavailable = 0;
  std::uint64_t deadline_exceeded = 0;
  std::uint64_t refused = 0;  ///< kResourceExhausted
  std::uint64_t other = 0;
  /// The longest that a call ended after its deadline.
  Duration lateness_max{};
  /// Answers that were wrong, and successes of calls that did not run once.
  std::uint64_t wrong = 0;
};

/// Servers, clients, their network, and the clock on which all of it happens.
/// Thread: one; its methods are called between turns of its loop.
class Fleet {
 public:
  /// All servers serve; nobody calls yet.
  explicit Fleet(const Plan& plan);
  ~Fleet();

  /// Lets all clients connect and make calls until finish().
  void call_on();
  /// Lets time pass.
  void pass(Duration time);
  /// Lets time pass until `done`, which is asked every 10 ms. False when that took longer than `at_most`.
  template <typename Done>
  bool pass_until(Done done, Duration at_most);
  /// Ends all calls, clients and servers, and then says which invariant does not hold, one a line: each call
  /// ended once, in time, ran at most once and exactly once if it succeeded; no connection, call or memory is
  /// left; and the counters of clients, servers and network agree. Empty when all hold.
  std::string finish();

  Station& station(std::size_t index) { return stations_[index]; }
  std::size_t stations() const { return stations_.size(); }
  SimulatedHost& client_host(std::size_t index) { return client_hosts_[index]; }
  /// Clients with a connection.
  std::size_t connected() const;
  const Totals& totals() const { return totals_; }
  /// Calls that succeeded at clients of one server.
  std::uint64_t succeeded_at(std::size_t station) const { return succeeded_[station]; }
  /// Microseconds of calls that succeeded.
  const load::Histogram& latencies() const { return latencies_; }
  SimulatedNetwork& network() { return network_; }
  Loop& loop() { return *loop_; }
  Duration elapsed() { return clock_.now() - begun_at_; }
  /// Numbers for what a scenario chooses.
  std::mt19937_64& random() { return random_; }

 private:
  class Quiet final : public Logger {
   public:
    void write(LogLevel, std::string_view) override {}
  };

  static Task<void> call_again_and_again(Fleet* fleet, std::size_t index);
  Duration thinking_time();
  void note(std::size_t station, std::uint64_t number, TimePoint began, const Result<std::uint64_t>& result);
  bool step(TimePoint end);
  std::string left_over();

  const Plan plan_;
  ManualClock clock_;
  TimePoint begun_at_;
  Quiet logger_;
  std::unique_ptr<Loop> loop_;
  SimulatedNetwork network_;
  std::mt19937_64 random_;
  Executions executions_;
  std::deque<Station> stations_;
  std::vector<SimulatedHost> client_hosts_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<std::uint64_t> succeeded_;
  Totals totals_;
  load::Histogram latencies_;
  std::unique_ptr<Scope> calls_ = std::make_unique<Scope>();
};

template <typename Done>
bool Fleet::pass_until(Done done, Duration at_most) {
  const TimePoint end = clock_.now() + at_most;
  while (!done()) {
    if (clock_.now() >= end) return false;
    pass(10ms);
  }
  return true;
}

}  // namespace weft::fleet
