// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "weft/detail/calls/incoming_call.hpp"
#include "weft/detail/limits/rate.hpp"

namespace weft {

/// Tells the callers of a server apart. Thread: each loop of the server asks on its own thread.
class CallerKey {
 public:
  virtual ~CallerKey() = default;
  /// Returns what calls of one caller have in common, valid until the next call of anything. It is looked at
  /// after the interceptors, which may have attached to the call whom they found it to be from.
  virtual std::string_view of(const IncomingCall& call) const noexcept = 0;

 protected:
  CallerKey() = default;
  CallerKey(const CallerKey&) = default;
  CallerKey& operator=(const CallerKey&) = default;
};

/// Callers are told apart by what they say under this key of their metadata. Those who say nothing are one.
std::shared_ptr<const CallerKey> by_metadata(std::string key);
/// Callers are told apart by the first name of who they were proven to be (Identity::name()). Those of whom
/// nothing is known are one.
std::shared_ptr<const CallerKey> by_identity();

/// Rate at which each caller may call: ServerOptions::caller_rates.
struct CallerRate {
  Rate rate{};
  /// Null: by the host that the connection comes from, an IPv6 host by its first 64 bits. That is looked at
  /// before the interceptors, when the call's body is there and its attachment is not.
  std::shared_ptr<const CallerKey> key{};
  /// Callers that have a rate of their own at the same time. Above that number newcomers share one while
  /// nobody is idle, so whoever invents keys gets no more than so many rates. From 1 to 2^24; each takes
  /// about 80 bytes.
  std::size_t callers_max = 10'000;
};

}  // namespace weft
