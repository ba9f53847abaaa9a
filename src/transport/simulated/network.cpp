// SPDX-License-Identifier: Apache-2.0
#include "transport/simulated/network.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "transport/simulated/circuit.hpp"
#include "weft/detail/base/saturated.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft::detail::simulated {

namespace {

/// Room for TCP's bytes in an Ethernet frame.
constexpr std::size_t kPacketBytes = 1448;

std::uint64_t pair_of(const Host& from, const Host& to) {
  return std::uint64_t{from.index} << 32 | to.index;
}

// Returns the time at which the last of `bytes`, which are ready at `at`, has passed, behind all earlier
// bytes.
TimePoint send_through(Access& access, TimePoint at, std::size_t bytes) {
  if (access.link.bytes_per_second == 0) return at;
  const double seconds = static_cast<double>(bytes) / static_cast<double>(access.link.bytes_per_second);
  access.busy_until =
      saturated_sum(std::max(at, access.busy_until),
                    std::chrono::duration_cast<Duration>(std::chrono::duration<double>{seconds}));
  return access.busy_until;
}

}  // namespace

Network::Network(Loop& loop, const SimulatedNetworkOptions& options)
    : loop_(loop), options_(options), random_(options.seed) {}

TimePoint Network::now() const {
  return loop_.now();
}

void Network::set_options(const SimulatedNetworkOptions& options) {
  options_ = options;
}

Host& Network::host(std::string_view name) {
  const auto found = hosts_by_name_.find(name);
  if (found != hosts_by_name_.end()) return *found->second;
  Host& made = hosts_.emplace_back(std::string{name}, static_cast<std::uint32_t>(hosts_.size()));
  made.out.link = options_.outgoing;
  made.in.link = options_.incoming;
  hosts_by_name_.emplace(made.name, &made);
  note(Trace::Event::kHost, made.index);
  return made;
}

Place* Network::find_place(std::string_view name) {
  const auto found = places_.find(name);
  return found == places_.end() ? nullptr : &found->second;
}

Place& Network::place(std::string_view name) {
  return places_.try_emplace(std::string{name}).first->second;
}

bool Network::passes(const Host& from, const Host& to) const {
  if (from.out.link.blocked || to.in.link.blocked || from.side != to.side) return false;
  if (from.state == Host::State::kOff || to.state == Host::State::kOff) return false;
  return blocked_.empty() || !blocked_.contains(pair_of(from, to));
}

void Network::set_blocked(const Host& from, const Host& to, bool blocked) {
  if (blocked) {
    blocked_.insert(pair_of(from, to));
  } else {
    blocked_.erase(pair_of(from, to));
  }
  note(Trace::Event::kLink, 2 * pair_of(from, to) + (blocked ? 1 : 0));
}

Duration Network::round_trip(const Host& from, const Host& to) const {
  return saturated_sum(saturated_sum(from.out.link.latency, to.in.link.latency),
                       saturated_sum(to.out.link.latency, from.in.link.latency));
}

Duration Network::retransmit_wait(const Host& from, const Host& to) const {
  const Duration trip = round_trip(from, to);
  return std::min(options_.retransmit_max, std::max(options_.retransmit_min, saturated_sum(trip, trip)));
}

double Network::loss(const Host& from, const Host& to) const {
  return 1 - (1 - from.out.link.loss) * (1 - to.in.link.loss);
}

TimePoint Network::transmit(Host& from, Host& to, std::size_t bytes) {
  const TimePoint start = now();
  TimePoint at = saturated_sum(send_through(from.out, start, bytes), travel_time(from, to));
  at = send_through(to.in, at, bytes);
  const double each = loss(from, to);
  if (each <= 0) return at;
  // Any of its packets, then that one again.
  const double packets = std::max(1.0, std::ceil(static_cast<double>(bytes) / kPacketBytes));
  double some = 1 - std::pow(1 - each, packets);
  Duration wait = retransmit_wait(from, to);
  while (random_.between(0, 1) < some && at - start < options_.give_up_after) {
    ++stats_.retransmissions;
    at = saturated_sum(at, wait);
    wait = std::min(saturated_sum(wait, wait), options_.retransmit_max);
    some = each;
  }
  return at;
}

Duration Network::travel_time(const Host& from, const Host& to) {
  const Duration jitter = saturated_sum(from.out.link.jitter, to.in.link.jitter);
  const Duration latency = saturated_sum(from.out.link.latency, to.in.link.latency);
  if (jitter <= Duration::zero()) return latency;
  const double most = static_cast<double>(jitter.count());
  return saturated_sum(latency, Duration{static_cast<Duration::rep>(random_.between(0, most))});
}

bool Network::loses_packet(const Host& from, const Host& to) {
  const double each = loss(from, to);
  return each > 0 && random_.between(0, 1) < each;
}

SimulatedNetworkStats Network::stats() const {
  SimulatedNetworkStats stats = stats_;
  stats.events = trace_.events();
  stats.trace_hash = trace_.hash();
  return stats;
}

}  // namespace weft::detail::simulated
