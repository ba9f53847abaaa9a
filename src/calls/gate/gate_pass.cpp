// SPDX-License-Identifier: Apache-2.0
#include "calls/gate/gate_pass.hpp"

#include <new>
#include <utility>

#include "weft/detail/calls/terms/method_entry.hpp"
#include "weft/detail/limits/service_time.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft::detail {

namespace {

constexpr FixedFailure kOverAdaptiveLimit{
    StatusCode::kResourceExhausted, Layer::kRpc, Retry::kBackoff,
    "the server works on as many calls as it does well, so this one was not run (adaptive_limit)"};
constexpr FixedFailure kEndedBefore{StatusCode::kUnavailable, Layer::kRpc, Retry::kBackoff,
                                    "the call ended before its handler ran"};

}  // namespace

void DropPass::operator()(GatePass* pass) const noexcept {
  delete pass;
}

Refusal over_adaptive_limit(const AdaptiveLimit& limit) {
  return {RefusalReason::kOverAdaptiveLimit, Status::of<kOverAdaptiveLimit>(),
          ServiceTime::bounded(limit.latency_without_load())};
}

GatePass::GatePass(const MethodGate& gate, Loop& loop, std::shared_ptr<const std::string> remote,
                   std::uint64_t request_bytes)
    : gate_(gate),
      loop_(loop),
      remote_(std::move(remote)),
      received_(loop.read_clock()),
      request_bytes_(request_bytes) {}

GatePass::~GatePass() {
  if (!concluded_ && asked_ > 0) {
    will_fail(Status::of<kEndedBefore>());
    conclude();
  }
  leave_limits();
}

std::optional<Refusal> GatePass::ask(IncomingCall& call) {
  for (const auto& interceptor : gate_.server.interceptors()) {
    Status refusal;
    try {
      refusal = interceptor->before(call);
    } catch (...) {
      refusal = status_of_exception("an interceptor");
    }
    if (!refusal.ok()) {
      will_fail(refusal);
      return Refusal{RefusalReason::kByInterceptor, std::move(refusal)};
    }
    ++asked_;
  }
  return std::nullopt;
}

std::optional<Refusal> GatePass::enter(std::size_t held) {
  if (!gate_.has_records) return std::nullopt;
  AdaptiveLimit* const of_method = gate_.limit.get();
  AdaptiveLimit* const of_server = gate_.server.limit();
  if (of_method == nullptr && of_server == nullptr) return std::nullopt;
  entered_ = loop_.read_clock();
  if (of_method != nullptr && !of_method->try_begin(entered_)) return over_adaptive_limit(*of_method);
  in_methods_limit_ = of_method != nullptr;
  if (of_server != nullptr && !of_server->try_begin(entered_, left_to_others(held))) {
    if (std::exchange(in_methods_limit_, false)) of_method->dropped();
    return over_adaptive_limit(*of_server);
  }
  in_servers_limit_ = of_server != nullptr;
  return std::nullopt;
}

void GatePass::handler_ended() {
  leave_limits();
}

void GatePass::leave_limits() noexcept {
  if (!in_methods_limit_ && !in_servers_limit_) return;
  const TimePoint now = loop_.read_clock();
  const Duration latency = now - entered_;
  // A call with refused arguments, or a call that refused itself, does not count for the limits either.
  const bool says_nothing =
      says_nothing_ || outcome_.unprocessed() || outcome_.code() == StatusCode::kInvalidArgument;
  const auto leave = [&](AdaptiveLimit& limit) {
    if (says_nothing) return limit.dropped();
    if (abandoned_) return limit.cancelled(now, latency);
    limit.ended(now, latency);
  };
  if (std::exchange(in_methods_limit_, false)) leave(*gate_.limit);
  if (std::exchange(in_servers_limit_, false)) leave(*gate_.server.limit());
}

void GatePass::conclude() noexcept {
  if (std::exchange(concluded_, true)) return;
  if (!abandoned_) leave_limits();
  if (asked_ == 0) return;
  const auto& interceptors = gate_.server.interceptors();
  const EndedCall ended{
      .method = gate_.name,
      .remote_endpoint = *remote_,
      .status = outcome_,
      .duration = loop_.read_clock() - received_,
      .request_bytes = request_bytes_,
      .answer_bytes = outcome_.ok() ? answer_bytes_ : 0,
      .objects = objects_,
      .initial_metadata = metadata_ != nullptr ? metadata_->initial.view() : MetadataView{},
      .trailing_metadata = metadata_ != nullptr ? metadata_->trailing.view() : MetadataView{}};
  for (std::size_t i = std::exchange(asked_, 0); i-- > 0;) interceptors[i]->after(ended);
}

}  // namespace weft::detail
