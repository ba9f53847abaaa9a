// SPDX-License-Identifier: Apache-2.0
#include "calls/gate/server_gate.hpp"

#include <algorithm>
#include <utility>

#include "weft/detail/calls/terms/method_entry.hpp"

namespace weft {

namespace {

class MetadataKey final : public CallerKey {
 public:
  explicit MetadataKey(std::string key) : key_(std::move(key)) {}
  std::string_view of(const IncomingCall& call) const noexcept override {
    return call.metadata().find(key_).value_or(std::string_view{});
  }

 private:
  const std::string key_;
};

class IdentityKey final : public CallerKey {
 public:
  std::string_view of(const IncomingCall& call) const noexcept override { return call.identity().name(); }
};

}  // namespace

std::shared_ptr<const CallerKey> by_metadata(std::string key) {
  return std::make_shared<const MetadataKey>(std::move(key));
}

std::shared_ptr<const CallerKey> by_identity() {
  return std::make_shared<const IdentityKey>();
}

namespace detail {

// All buckets begin full, and are first measured later, at any time after their creation. No loop exists yet
// to read the present time from, so they begin at the earliest time.
ServerGate::ServerGate(const GateOptions& options)
    : authenticator_(options.authenticator), authorizer_(options.authorizer) {
  for (const CallerRate& rate : options.caller_rates) {
    caller_limits_.push_back(std::make_unique<CallerLimit>(rate, options.loops));
  }
  if (options.adaptive_limit) {
    limit_ = std::make_unique<AdaptiveLimit>(*options.adaptive_limit, TimePoint{});
  }
  for (const auto& interceptor : options.interceptors) {
    if (interceptor != nullptr) interceptors_.push_back(interceptor);
  }
}

const MethodGate* ServerGate::gate_of(const MethodEntry& method) {
  const HandlerOptions& options = method.options;
  const bool has_records = method.kind != HandlerKind::kInline;
  const bool of_server = looks_at_callers() || !caller_limits_.empty() || !interceptors_.empty() ||
                         (has_records && limit_ != nullptr);
  if (!of_server && !options.rate && !options.adaptive_limit) return nullptr;
  auto gate = std::make_unique<MethodGate>(MethodGate{*this, method.key.name, nullptr, nullptr, has_records});
  if (options.rate) gate->rate = std::make_unique<SharedTokenBucket>(*options.rate);
  if (options.adaptive_limit) {
    gate->limit = std::make_unique<AdaptiveLimit>(*options.adaptive_limit, TimePoint{});
  }
  methods_.push_back(std::move(gate));
  return methods_.back().get();
}

}  // namespace detail

}  // namespace weft
