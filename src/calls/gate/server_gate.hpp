// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "weft/detail/base/keyed_hash.hpp"
#include "weft/detail/calls/gate/authenticator.hpp"
#include "weft/detail/calls/gate/authorizer.hpp"
#include "weft/detail/calls/gate/caller_rate.hpp"
#include "weft/detail/calls/gate/server_interceptor.hpp"
#include "weft/detail/limits/adaptive_limit.hpp"
#include "weft/detail/limits/shared_rate_limiters.hpp"
#include "weft/detail/limits/shared_token_bucket.hpp"

namespace weft::detail {

class ServerGate;
struct MethodEntry;

/// Rates, limits and interceptors that the calls of one method pass before they are served. Thread: any, as
/// for the objects it refers to.
struct MethodGate {
  ServerGate& server;
  std::string_view name;
  /// Null if the method has no such limit.
  std::unique_ptr<SharedTokenBucket> rate;
  std::unique_ptr<AdaptiveLimit> limit;
  /// Calls of the method have a record, so that they can have a place under an adaptive limit.
  bool has_records;
};

/// Rules for every call of a server, for all methods: fields of ServerOptions. Clients that serve do not use
/// them.
struct GateOptions {
  std::vector<CallerRate> caller_rates{};
  std::optional<AdaptiveLimitOptions> adaptive_limit{};
  std::vector<std::shared_ptr<ServerInterceptor>> interceptors{};
  std::shared_ptr<Authenticator> authenticator{};
  std::shared_ptr<Authorizer> authorizer{};
  /// Loops that share the rates of callers.
  unsigned loops = 1;
};

/// Rates of callers, adaptive limits, interceptors and access of a server, which all its loops share. Filled
/// before the server runs, and outlives its calls. Thread: any.
class ServerGate {
 public:
  struct CallerLimit {
    CallerLimit(const CallerRate& its, std::size_t loops)
        : key(its.key), limiters(its.rate, its.callers_max, loops, TimePoint{}) {}
    /// Null: by host.
    std::shared_ptr<const CallerKey> key;
    SharedRateLimiters limiters;
  };

  /// Throws std::bad_alloc.
  explicit ServerGate(const GateOptions& options);
  ServerGate(const ServerGate&) = delete;
  ServerGate& operator=(const ServerGate&) = delete;

  /// Makes the gate for the calls of `method`; null when there is nothing to pass.
  const MethodGate* gate_of(const MethodEntry& method);

  const std::vector<std::unique_ptr<CallerLimit>>& caller_limits() const { return caller_limits_; }
  const std::vector<std::shared_ptr<ServerInterceptor>>& interceptors() const { return interceptors_; }
  /// Null if the server has none.
  Authenticator* authenticator() const { return authenticator_.get(); }
  Authorizer* authorizer() const { return authorizer_.get(); }
  /// Callers are checked, for all methods.
  bool looks_at_callers() const { return authenticator_ != nullptr || authorizer_ != nullptr; }
  /// Null if the server has none.
  AdaptiveLimit* limit() const { return limit_.get(); }
  const KeyedHash& hash() const { return hash_; }

 private:
  const KeyedHash hash_ = KeyedHash::of_system();
  std::vector<std::unique_ptr<CallerLimit>> caller_limits_;
  std::unique_ptr<AdaptiveLimit> limit_;
  std::vector<std::shared_ptr<ServerInterceptor>> interceptors_;
  std::shared_ptr<Authenticator> authenticator_;
  std::shared_ptr<Authorizer> authorizer_;
  std::vector<std::unique_ptr<MethodGate>> methods_;
};

}  // namespace weft::detail
