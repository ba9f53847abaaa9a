// SPDX-License-Identifier: Apache-2.0
#include "calls/arriving_calls.hpp"

#include <memory>
#include <new>
#include <utility>

#include "calls/call_status.hpp"
#include "calls/calls_host.hpp"
#include "weft/detail/transport/connection.hpp"
#include "weft/runtime/loop.hpp"

namespace weft::detail {

namespace {

/// A smaller body is copied, so that its chunk can be received into meanwhile.
constexpr std::size_t kCopiedRequestBytes = 8 * 1024;

constexpr FixedFailure kStoodStill{StatusCode::kUnavailable, Layer::kRpc, Retry::kBackoff,
                                   "the request's attachment did not get on for the server's frame_timeout"};
constexpr FixedFailure kGivenUpArriving{StatusCode::kCancelled, Layer::kRpc, Retry::kNever,
                                        "the caller gave up"};
constexpr FixedFailure kTooLate{StatusCode::kDeadlineExceeded, Layer::kRpc, Retry::kNever,
                                "the deadline passed before the request's attachment was there"};

}  // namespace

ArrivingCalls::ArrivingCalls(ArrivingCallsOwner& owner, Connection& connection, Loop& loop,
                             const RpcLimits& limits, Admission& admission, CallsHost& host)
    : owner_(owner),
      connection_(connection),
      loop_(loop),
      limits_(limits),
      admission_(admission),
      host_(host),
      table_(host.table_secret) {}

std::optional<Refusal> ArrivingCalls::begin(const Frame& frame, const ChunkRef& chunk, Deadline deadline) {
  const std::uint64_t bytes = frame.header.attachment_bytes;
  if (auto refusal = admission_.refuse_arriving(announced_ + bytes)) return refusal;
  Result<Buffer> landing = connection_.landing_memory(bytes);
  if (!landing.ok()) return no_memory_to_land(landing.status());
  const bool copied = frame.body.size() <= kCopiedRequestBytes;
  const Charge charge{.kept = sizeof(ArrivingCall) + (copied ? frame.body.size() : chunk->capacity())};
  if (auto refusal = admission_.admit(charge)) return refusal;
  try {
    KeptBody kept{*host_.memory, charge.kept};
    if (copied) kept.copy(frame.body);
    table_.reserve_one();
    auto* const call =
        new ArrivingCall(*this, frame, copied ? ChunkRef{} : chunk, std::move(kept), charge.kept,
                         ArrivingBuffer{*std::move(landing), host_.memory->shared()}, deadline);
    table_.insert(*call);
    calls_.push_back(*call);
    announced_ += bytes;
    arm(*call);
    return std::nullopt;
  } catch (const std::bad_alloc&) {
    admission_.leave(charge.kept);
    return over_process_memory();
  }
}

Result<Landing> ArrivingCalls::on_piece(wire::PieceView piece) {
  landing_ = nullptr;
  ArrivingCall* const call = table_.find(piece.id());
  if (call == nullptr) return Landing::skip();
  if (!call->expects(piece)) return misplaced_piece(piece);
  landing_ = call;
  landing_bytes_ = static_cast<std::size_t>(piece.bytes());
  return Landing::into(call->place(piece));
}

void ArrivingCalls::on_progress(std::uint64_t left) {
  if (landing_ != nullptr) charge(*landing_, landing_->received() + landing_bytes_ - left);
}

void ArrivingCalls::on_piece_end(wire::PieceView piece) {
  ArrivingCall* const call = std::exchange(landing_, nullptr);
  if (call == nullptr) return;
  call->landed(piece);
  if (!charge(*call, call->received()) || !piece.is_last()) return;
  const std::unique_ptr<ArrivingCall> whole = take(*call);
  Result<Buffer> attachment = std::exchange(whole->attachment(), {}).take();
  if (!attachment.ok()) return owner_.on_call_refused(whole->request(), over_process_memory());
  owner_.on_call_arrived(*whole, std::move(*attachment));
}

void ArrivingCalls::cancel(std::uint64_t id) {
  ArrivingCall* const call = table_.find(id);
  if (call != nullptr) owner_.on_call_failed(end(*call)->request(), Status::of<kGivenUpArriving>());
}

void ArrivingCalls::drop_all() noexcept {
  landing_ = nullptr;
  while (!calls_.empty()) take(calls_.front());
}

void ArrivingCalls::on_time(ArrivingCall& call) {
  const TimePoint now = loop_.now();
  if (call.deadline().expired(now)) {
    return owner_.on_call_failed(end(call)->request(), Status::of<kTooLate>());
  }
  const TimePoint fair = loop_.turn_time().absence().judge_from(limits_.frame_timeout);
  if (fair > now) return loop_.arm(call.timer(), fair);
  if (call.has_got_on(connection_.stats().bytes_received)) return arm(call);
  owner_.on_call_failed(end(call)->request(), Status::of<kStoodStill>());
}

void ArrivingCalls::arm(ArrivingCall& call) {
  loop_.arm(call.timer(), call.deadline().earlier(Deadline::after(loop_.now(), limits_.frame_timeout)).at());
}

// Charges the first `arrived` bytes of it. False when there is no room for them: the call has ended.
bool ArrivingCalls::charge(ArrivingCall& call, std::size_t arrived) {
  std::optional<Refusal> refusal = admission_.refuse_arriving(arrived, call.attachment().charged());
  if (!refusal && !call.attachment().charge(arrived)) refusal = over_process_memory();
  if (!refusal) return true;
  owner_.on_call_refused(end(call)->request(), *refusal);
  return false;
}

// Pieces that still come for it find nobody.
std::unique_ptr<ArrivingCall> ArrivingCalls::end(ArrivingCall& call) noexcept {
  if (landing_ == &call) {
    landing_ = nullptr;
    connection_.abandon_landing();
  }
  return take(call);
}

std::unique_ptr<ArrivingCall> ArrivingCalls::take(ArrivingCall& call) noexcept {
  table_.erase(call);
  call.ListHook<ArrivingCallTag>::unlink();
  announced_ -= call.frame().header.attachment_bytes;
  admission_.leave(call.charge());
  return std::unique_ptr<ArrivingCall>{&call};
}

}  // namespace weft::detail
