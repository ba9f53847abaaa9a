// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>
#include <string>
#include <vector>

#include "weft/detail/balancing/balancing_policy.hpp"
#include "weft/detail/base/random_numbers.hpp"

/// Lists of endpoints and a model of a fleet, on a virtual clock.
namespace weft::testing {

inline constexpr TimePoint kFleetStart{std::chrono::seconds{1000}};

/// A list with keys of its own.
struct ListOfServers {
  explicit ListOfServers(std::size_t count, const std::vector<std::uint32_t>& weights = {}) {
    names.reserve(count);
    for (std::size_t index = 0; index < count; ++index) {
      names.push_back("tcp://server-" + std::to_string(index));
    }
    for (std::size_t index = 0; index < count; ++index) {
      specs.push_back({.key = names[index], .weight = weights.empty() ? 1 : weights[index]});
    }
  }
  ListOfServers(const ListOfServers&) = delete;
  ListOfServers& operator=(const ListOfServers&) = delete;

  /// The same without one of them.
  std::vector<EndpointSpec> without(std::size_t index) const {
    std::vector<EndpointSpec> rest = specs;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(index));
    return rest;
  }

  std::vector<std::string> names;
  std::vector<EndpointSpec> specs;
};

/// Servers of one worker and a queue each; service times vary by half. Calls come at random.
class Fleet {
 public:
  Fleet(std::uint64_t seed, std::size_t count, Duration service) : random_(seed), servers_(count) {
    for (Server& server : servers_) server.service = service;
  }

  struct Server {
    Duration service;
    TimePoint free_at = kFleetStart;
    bool fails = false;       ///< answers at once, with a failure
    bool black_hole = false;  ///< never answers: calls end by their timeout
    std::uint64_t calls = 0;
    std::uint32_t in_flight = 0;
  };

  Server& operator[](std::size_t index) { return servers_[index]; }
  TimePoint now() const { return now_; }

  /// Sends `calls` calls at `per_second` through `policy`. Returns the latencies of those that succeeded.
  std::vector<Duration> run(BalancingPolicy& policy, std::size_t calls, double per_second,
                            const std::function<void(std::uint32_t)>& on_pick = {}) {
    for (Server& server : servers_) server.calls = 0;
    failures = none = 0;
    std::vector<Duration> latencies;
    TimePoint next_call = now_;
    for (std::size_t sent = 0; sent < calls || !ends_.empty();) {
      if (!ends_.empty() && (sent == calls || ends_.top().at <= next_call)) {
        finish(policy, latencies);
        continue;
      }
      now_ = next_call;
      next_call +=
          Duration{static_cast<Duration::rep>(-std::log(random_.between(1e-12, 1)) / per_second * 1e9)};
      ++sent;
      const auto picked = policy.pick({.now = now_, .random = random_.next(), .key_hash = random_.next()});
      if (!picked) {
        ++none;
        continue;
      }
      if (on_pick) on_pick(*picked);
      send(policy, *picked);
    }
    return latencies;
  }

  std::uint64_t failures = 0;
  std::uint64_t none = 0;
  static constexpr Duration kTimeout = std::chrono::seconds{1};

 private:
  struct End {
    TimePoint at;
    TimePoint began;
    std::uint32_t index;
    bool failed;
    bool operator>(const End& other) const { return at > other.at; }
  };

  void send(BalancingPolicy& policy, std::uint32_t index) {
    Server& server = servers_[index];
    ++server.calls;
    ++server.in_flight;
    policy.begun(index, now_);
    End end{now_, now_, index, server.fails || server.black_hole};
    if (server.black_hole) {
      end.at += kTimeout;
    } else if (server.fails) {
      end.at += std::chrono::microseconds{100};
    } else {
      const double part = random_.between(0.5, 1.5);
      server.free_at =
          std::max(server.free_at, now_) +
          Duration{static_cast<Duration::rep>(static_cast<double>(server.service.count()) * part)};
      end.at = server.free_at;
    }
    ends_.push(end);
  }
  void finish(BalancingPolicy& policy, std::vector<Duration>& latencies) {
    const End end = ends_.top();
    ends_.pop();
    now_ = end.at;
    --servers_[end.index].in_flight;
    policy.ended(end.index, {.now = now_,
                             .outcome = end.failed ? CallOutcome::kFailure : CallOutcome::kSuccess,
                             .latency = now_ - end.began});
    if (end.failed) {
      ++failures;
    } else {
      latencies.push_back(now_ - end.began);
    }
  }

  detail::RandomNumbers random_;
  std::vector<Server> servers_;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  TimePoint now_ = kFleetStart;
};

inline Duration percentile(std::vector<Duration> latencies, double part) {
  const auto at = static_cast<std::ptrdiff_t>(part * static_cast<double>(latencies.size() - 1));
  std::nth_element(latencies.begin(), latencies.begin() + at, latencies.end());
  return latencies[static_cast<std::size_t>(at)];
}

}  // namespace weft::testing
