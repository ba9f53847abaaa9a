// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "weft/detail/base/time.hpp"

namespace weft::detail::simulated {

/// A hash over everything that happens, in its order: two runs that differ anywhere have different ones, but
/// for one pair of runs in 2^64.
class Trace {
 public:
  enum class Event : std::uint8_t {
    kHost,
    kConnect,
    kRefused,
    kOpened,
    kSent,
    kArrived,
    kLost,
    kReset,
    kGivenUp,
    kCrashed,
    kPower,
    kStopped,
    kLink,
  };

  /// `value` says which connection, host or how many bytes, as the event has it.
  void note(Event event, TimePoint at, std::uint64_t value) {
    mix(static_cast<std::uint64_t>(event));
    mix(static_cast<std::uint64_t>(at.time_since_epoch().count()));
    mix(value);
    ++events_;
  }

  std::uint64_t events() const { return events_; }
  std::uint64_t hash() const { return hash_; }

 private:
  // The finalizer of SplitMix64, over a sum that depends on the order.
  void mix(std::uint64_t value) {
    std::uint64_t mixed = hash_ * 0x9e3779b97f4a7c15u + value;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    hash_ = mixed ^ (mixed >> 31);
  }

  std::uint64_t events_ = 0;
  std::uint64_t hash_ = 0x5765667453696d31u;
};

}  // namespace weft::detail::simulated
