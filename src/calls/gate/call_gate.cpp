// SPDX-License-Identifier: Apache-2.0
#include "calls/gate/call_gate.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <utility>

#include "calls/gate/method_table.hpp"
#include "calls/terms/admission.hpp"
#include "weft/detail/calls/terms/metadata.hpp"
#include "weft/detail/calls/terms/method_entry.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/transport/url.hpp"

namespace weft::detail {

namespace {

constexpr FixedFailure kOverCallerRate{
    StatusCode::kResourceExhausted, Layer::kRpc, Retry::kBackoff,
    "the caller calls more often than the server lets each (ServerOptions::caller_rates)"};
constexpr FixedFailure kOverMethodsRate{
    StatusCode::kResourceExhausted, Layer::kRpc, Retry::kBackoff,
    "the method is called more often than the server lets it be (HandlerOptions::rate)"};

Refusal over_methods_rate(Duration wait) {
  return {RefusalReason::kOverMethodsRate, Status::of<kOverMethodsRate>(), wait};
}

bool is_v4_mapped(const std::array<char, 16>& address) {
  constexpr char kPrefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, '\xFF', '\xFF'};
  return std::memcmp(address.data(), kPrefix, sizeof kPrefix) == 0;
}

}  // namespace

std::string host_key(std::string_view url) {
  const Result<Url> parsed = Url::parse(url);
  if (!parsed.ok()) return std::string{url};
  std::array<char, 16> address{};
  const std::size_t scope = std::min(parsed->host.find('%'), parsed->host.size());
  const std::string name = parsed->host.substr(0, scope);
  if (::inet_pton(AF_INET6, name.c_str(), address.data()) != 1) return parsed->host;
  if (is_v4_mapped(address)) return std::string{address.data() + 12, 4};
  return std::string{address.data(), 8} + parsed->host.substr(scope);  // each link is a network
}

bool CallGate::looks_at_callers() const noexcept {
  return methods_ != nullptr && methods_->gate() != nullptr && methods_->gate()->looks_at_callers();
}

std::optional<Refusal> CallGate::check_caller(const MethodEntry* method, MetadataView metadata,
                                              bool early) noexcept {
  if (!looks_at_callers()) return std::nullopt;
  const ServerGate& server = *methods_->gate();
  const TimePoint now = loop_.now();
  try {
    remember_remote();
    if (!std::exchange(rates_taken_, false)) {
      if (auto refusal = take_rates_of_host(server, now)) return refusal;
    }
    auto refusal = need_caller_check(server).refuse(method, metadata, now);
    rates_taken_ = early && !refusal;
    return refusal;
  } catch (const std::bad_alloc&) {
    return over_process_memory();
  }
}

std::optional<Refusal> CallGate::check_page(std::string_view name, MetadataView metadata) noexcept {
  if (!looks_at_callers()) return std::nullopt;
  const ServerGate& server = *methods_->gate();
  const TimePoint now = loop_.now();
  try {
    remember_remote();
    if (auto refusal = take_rates_of_host(server, now)) return refusal;
    return need_caller_check(server).refuse_page(name, metadata, now);
  } catch (const std::bad_alloc&) {
    return over_process_memory();
  }
}

bool CallGate::has_rules() const noexcept {
  return methods_ != nullptr && methods_->gate() != nullptr && methods_->gate()->authorizer() != nullptr;
}

CallerCheck& CallGate::need_caller_check(const ServerGate& server) {
  if (caller_ == nullptr) {
    caller_ = std::make_unique<CallerCheck>(server.authenticator(), server.authorizer(),
                                            connection_.peer_identity(), methods_->entries().size());
  }
  return *caller_;
}

std::size_t CallGate::without_token(MutableBytes metadata) const noexcept {
  if (!looks_at_callers() || methods_->gate()->authenticator() == nullptr) return metadata.size();
  return remove_pairs(metadata, kAuthorizationKey);
}

void CallGate::remember_remote() {
  if (remote_ != nullptr) return;
  remote_ = std::make_shared<const std::string>(connection_.remote_endpoint());
}

std::optional<Refusal> CallGate::refuse_early(const MethodEntry& method, std::size_t held) const noexcept {
  if (method.gate == nullptr) return std::nullopt;
  const MethodGate& gate = *method.gate;
  const TimePoint now = loop_.now();
  if (gate.rate != nullptr) {
    if (const Duration wait = gate.rate->wait(now); wait > Duration::zero()) return over_methods_rate(wait);
  }
  if (!gate.has_records) return std::nullopt;
  if (gate.limit != nullptr && gate.limit->is_full(now)) return over_adaptive_limit(*gate.limit);
  AdaptiveLimit* const of_server = gate.server.limit();
  if (of_server != nullptr && of_server->is_full(now, left_to_others(held))) {
    return over_adaptive_limit(*of_server);
  }
  return std::nullopt;
}

std::optional<Refusal> CallGate::admit(const MethodEntry& method, const ReceivedRequest& request,
                                       std::uint64_t attachment_bytes, Deadline deadline,
                                       OwnedPass& pass) noexcept {
  if (method.gate == nullptr) return std::nullopt;
  try {
    remember_remote();
    return admit(*method.gate,
                 {.method = method.key.name,
                  .metadata = request.metadata(),
                  .remote_endpoint = *remote_,
                  .connection_id = connection_.connection_id(),
                  .deadline = deadline,
                  .request_bytes = request.arguments().size(),
                  .attachment_bytes = attachment_bytes,
                  .identity = caller_ != nullptr ? caller_->caller() : connection_.peer_identity()},
                 pass);
  } catch (const std::bad_alloc&) {
    pass.reset();
    return over_process_memory();
  }
}

// Rates of hosts are taken first, because checking a token is work. Rates of callers come after the
// interceptors, because an interceptor may determine the key of the caller. Limits shared by all callers come
// last: a caller that is refused by its own limit takes nothing from the shared ones.
std::optional<Refusal> CallGate::admit(const MethodGate& gate, const IncomingCall::Facts& facts,
                                       OwnedPass& pass) {
  const TimePoint now = loop_.now();
  const ServerGate& server = gate.server;
  if (caller_ == nullptr) {  // else check_caller() took them
    if (auto refusal = take_rates_of_host(server, now)) return refusal;
  }
  CallObjects none;
  const bool places = gate.has_records && (gate.limit != nullptr || server.limit() != nullptr);
  const bool has_token = gate.has_records && facts.identity.kind() == Identity::Kind::kToken;
  if (places || has_token || !server.interceptors().empty()) {
    pass.reset(new GatePass(gate, loop_, remote_, facts.request_bytes));
    pass->set_caller(facts.identity);
  }
  IncomingCall call{facts, pass != nullptr ? pass->objects() : none};
  std::optional<Refusal> refusal;
  if (pass != nullptr) refusal = pass->ask(call);
  if (!refusal) refusal = take_rates_of_keys(server, call, now);
  if (!refusal && gate.rate != nullptr) {
    if (const Duration wait = gate.rate->take(now); wait > Duration::zero())
      refusal = over_methods_rate(wait);
  }
  if (refusal && pass != nullptr) {
    pass->will_fail(refusal->status);
    pass->conclude();
    pass.reset();
  }
  return refusal;
}

std::optional<Refusal> CallGate::take_rates_of_host(const ServerGate& server, TimePoint now) {
  for (const auto& limit : server.caller_limits()) {
    if (limit->key != nullptr) continue;
    if (host_ == 0) host_ = std::max<std::uint64_t>(1, server.hash()(as_bytes(host_key(*remote_))));
    if (const Duration wait = limit->limiters.take(now, host_); wait > Duration::zero()) {
      return Refusal{RefusalReason::kOverCallerRate, Status::of<kOverCallerRate>(), wait};
    }
  }
  return std::nullopt;
}

std::optional<Refusal> CallGate::take_rates_of_keys(const ServerGate& server, const IncomingCall& call,
                                                    TimePoint now) const {
  for (const auto& limit : server.caller_limits()) {
    if (limit->key == nullptr) continue;
    const std::uint64_t caller = server.hash()(as_bytes(limit->key->of(call)));
    if (const Duration wait = limit->limiters.take(now, caller); wait > Duration::zero()) {
      return Refusal{RefusalReason::kOverCallerRate, Status::of<kOverCallerRate>(), wait};
    }
  }
  return std::nullopt;
}

}  // namespace weft::detail
