// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "weft/detail/calls/gate/incoming_call.hpp"
#include "weft/detail/limits/rate.hpp"

namespace weft {

/// Distinguishes the callers of a server. Thread: each loop of the server asks on its own thread.
class CallerKey {
 public:
  virtual ~CallerKey() = default;
  /// Returns the key of the caller of `call`, valid until the next call of any function. It is evaluated
  /// after the interceptors, which may have attached the identity of the caller to the call.
  virtual std::string_view of(const IncomingCall& call) const noexcept = 0;

 protected:
  CallerKey() = default;
  CallerKey(const CallerKey&) = default;
  CallerKey& operator=(const CallerKey&) = default;
};

/// Distinguishes callers by the value of this metadata key. All calls without it share one rate.
std::shared_ptr<const CallerKey> by_metadata(std::string key);
/// Distinguishes callers by their first proven name (Identity::name()). All callers without a proven identity
/// share one rate.
std::shared_ptr<const CallerKey> by_identity();

/// Limits the rate of calls for each caller: ServerOptions::caller_rates.
struct CallerRate {
  Rate rate{};
  /// Null: the host of the connection is the key, for IPv6 its first 64 bits. The rate is checked before the
  /// interceptors, when the call's body has arrived and its attachment has not.
  std::shared_ptr<const CallerKey> key{};
  /// Number of callers with their own rate at the same time. Above this number, new callers share one rate
  /// unless an idle caller can be replaced, so a client that invents keys gains at most this many rates. From
  /// 1 to 2^24; each takes about 80 bytes.
  std::size_t callers_max = 10'000;
};

}  // namespace weft
