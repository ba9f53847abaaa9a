// SPDX-License-Identifier: Apache-2.0
#include "calls/client/pool_core.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "calls/call/call_path.hpp"
#include "calls/client/check_options.hpp"
#include "calls/terms/call_status.hpp"
#include "weft/detail/calls/gate/client_gate.hpp"

namespace weft::detail {

namespace {

constexpr FixedFailure kPoolClosed{StatusCode::kCancelled, Layer::kRpc, Retry::kNever, "the pool was closed",
                                   true};

// With options that are no good no call has a timeout: it is refused for them, and not for a time that is
// over.
Duration timeout_of_calls(const PoolOptions& options) {
  return check_options(options).ok() ? options.client.call_timeout : kNoTimeout;
}

}  // namespace

PoolCore::PoolCore(Loop& loop, PoolOptions options, Transports transports)
    : CallTarget(loop, timeout_of_calls(options), options.client.carries_metadata,
                 gate_to(options.client.connect, options.client.interceptors)),
      transports_(std::move(transports)),
      options_(std::move(options)),
      host_(ClientHost::make(loop, options_.client.limits, timeout_of_calls(options_),
                             check_options(options_))),
      shared_(options_,
              {loop, transports_, options_.client, host_->calls(), logger(), options_.calls_per_connection}),
      small_(shared_, *this, options_.connections_max),
      bulk_(shared_, *this, options_.bulk_connections_max) {
  if (!check_options(options_).ok()) return;
  budget_.emplace(options_.retry_budget, loop.now());
  if (options_.retries_max != 0) repeat_calls();
  if (options_.bulk_bytes_min != 0) ask_about_options();
}

PoolLane& PoolCore::lane_of(const PendingCall& call) {
  const CallDetails* const details = call.request().details;
  if (options_.bulk_bytes_min == 0 || details == nullptr) return small_;
  return details->options.attachment.bytes() >= options_.bulk_bytes_min ? bulk_ : small_;
}

Begun PoolCore::begin_without_session(PendingCall& call, std::size_t body_bytes) {
  if (closed_) return call.refuse(Status::of<kPoolClosed>());
  if (const Status& misuse = host_->prepare(); !misuse.ok()) return call.refuse(misuse);
  const RpcLimits& limits = options_.client.limits;
  if (body_bytes > limits.body_bytes_max) {
    return call.refuse(
        over_limit("a request", body_bytes, limits.body_bytes_max, "the client's", kRaiseBody));
  }
  return lane_of(call).begin(call, body_bytes);
}

void PoolCore::on_open_session(PoolLane& lane, Session* session) {
  if (&lane == &small_) set_open_calls(session != nullptr ? &session->calls_out() : nullptr);
}

// A retry of a call that has not run costs the server nothing; all others use the budget.
bool PoolCore::may_begin_again(const PendingCall& call, const Status& failure) noexcept {
  if (closed_ || call.request().repeats >= options_.retries_max) return false;
  if (!failure.unprocessed()) {
    count_for_budget();
    if (!budget_->try_retry(loop().now())) {
      ++shared_.counted.retries_refused;
      return false;
    }
  }
  ++shared_.counted.retries;
  return true;
}

void PoolCore::count_for_budget() noexcept {
  if (std::exchange(budgeted_at_, loop().now()) == loop().now()) return;  // many are lost together
  const std::uint64_t calls = stats().calls;
  budget_->on_calls(calls - std::min(calls, budgeted_));
  budgeted_ = calls;
}

void PoolCore::add_connect_waiter(ConnectWaiter& waiter) {
  if (closed_ || !host_->prepare().ok()) {
    waiter.outcome = closed_ ? Status::of<kPoolClosed>() : host_->prepare();
    return loop().schedule(waiter.resumption);
  }
  small_.add_connect_waiter(waiter);
}

void PoolCore::close() {
  if (std::exchange(closed_, true)) return;
  const LateEnd::Guard guard;
  set_open_calls(nullptr);
  small_.close(Status::of<kPoolClosed>());
  bulk_.close(Status::of<kPoolClosed>());
}

void PoolCore::end() noexcept {
  close();
  destroy_late(loop());
}

PoolStats PoolCore::stats() const noexcept {
  PoolStats stats = shared_.counted;
  small_.add_to(stats);
  bulk_.add_to(stats);
  stats.traffic = host_->calls().traffic.sum();
  return stats;
}

}  // namespace weft::detail
