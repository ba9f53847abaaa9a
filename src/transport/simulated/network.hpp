// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <unordered_set>

#include "transport/simulated/trace.hpp"
#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/base/random_numbers.hpp"
#include "weft/detail/transport/simulated_network.hpp"

namespace weft::detail::simulated {

class CircuitEnd;
class SimulatedListener;
struct EndOfHostTag;

/// One direction of a host's link, and the time until which it is busy.
struct Access {
  SimulatedLink link;
  TimePoint busy_until{};
};

struct Host {
  enum class State : std::uint8_t { kRunning, kStopped, kOff };

  Host(std::string its_name, std::uint32_t its_index) : name(std::move(its_name)), index(its_index) {}

  const std::string name;
  const std::uint32_t index;
  std::uint32_t side = 0;
  State state = State::kRunning;
  Access out;
  Access in;
  IntrusiveList<CircuitEnd, EndOfHostTag> ends;
};

/// Name of a listener. Keeps its place while no server listens under it.
struct Place {
  std::string url;
  Host* host = nullptr;
  SimulatedListener* listener = nullptr;
};

/// All hosts, the links between them, and the random numbers.
class Network {
 public:
  Network(Loop& loop, const SimulatedNetworkOptions& options);

  Loop& loop() const { return loop_; }
  TimePoint now() const;
  const SimulatedNetworkOptions& options() const { return options_; }
  void set_options(const SimulatedNetworkOptions& options);

  Host& host(std::string_view name);
  /// Returns null if no server has ever listened under the name.
  Place* find_place(std::string_view name);
  Place& place(std::string_view name);
  template <typename Visit>
  void for_each_listener_of(const Host& host, Visit visit);

  bool passes(const Host& from, const Host& to) const;
  void set_blocked(const Host& from, const Host& to, bool blocked);
  /// Returns the latency both ways, without jitter.
  Duration round_trip(const Host& from, const Host& to) const;
  /// Returns the first wait before something is sent again.
  Duration retransmit_wait(const Host& from, const Host& to) const;
  /// Sends `bytes` now: uses up bandwidth. Returns the arrival time of the last byte, including the
  /// retransmission of lost bytes.
  TimePoint transmit(Host& from, Host& to, std::size_t bytes);
  /// Returns how long a packet without bytes takes.
  Duration travel_time(const Host& from, const Host& to);
  bool loses_packet(const Host& from, const Host& to);

  void note(Trace::Event event, std::uint64_t value) { trace_.note(event, now(), value); }
  /// The trace is written by note(), the rest of it by whom it happens to.
  SimulatedNetworkStats& counters() { return stats_; }
  SimulatedNetworkStats stats() const;

 private:
  double loss(const Host& from, const Host& to) const;

  Loop& loop_;
  SimulatedNetworkOptions options_;
  RandomNumbers random_;
  Trace trace_;
  SimulatedNetworkStats stats_;
  std::deque<Host> hosts_;
  std::map<std::string, Host*, std::less<>> hosts_by_name_;
  std::map<std::string, Place, std::less<>> places_;
  std::unordered_set<std::uint64_t> blocked_;  // pairs of hosts
};

template <typename Visit>
void Network::for_each_listener_of(const Host& host, Visit visit) {
  for (auto& [name, place] : places_) {
    if (place.host == &host && place.listener != nullptr) visit(*place.listener);
  }
}

}  // namespace weft::detail::simulated
