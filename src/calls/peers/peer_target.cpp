// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/peers/peer_target.hpp"

#include <utility>

#include "calls/call/call_path.hpp"
#include "calls/call/waiting_calls.hpp"
#include "calls/peers/peer_index.hpp"
#include "calls/peers/peer_seat.hpp"
#include "calls/sending/session_link.hpp"
#include "calls/terms/call_status.hpp"

namespace weft::detail {

namespace {

constexpr FixedFailure kPeerGone{StatusCode::kUnavailable, Layer::kRpc, Retry::kNever,
                                 "the peer is gone: the connection that it was called by has ended", true};
constexpr FixedFailure kPeerLeaves{StatusCode::kUnavailable, Layer::kRpc, Retry::kNever,
                                   "the peer's connection is ending and takes no new calls", true};

constexpr FixedFailure kNoMemoryForPeer{
    StatusCode::kResourceExhausted, Layer::kRpc, Retry::kBackoff,
    "requests to peers that wait to be sent fill this side's memory, or this peer's share of it "
    "(process_memory_max)"};

}  // namespace

/// Calls that wait for room at the peer's connection.
struct PeerWaiting {
  WaitingCalls calls;
};

std::shared_ptr<PeerTarget> PeerTarget::of(CallsOut& calls, Duration timeout,
                                           std::shared_ptr<PeerIndex> index) {
  SessionLink& link = calls.link();
  auto made = std::make_shared<PeerTarget>(link.loop(), timeout, link.connection_id());
  made->remote_endpoint_ = link.connection().remote_endpoint();
  made->waiting_ = std::make_unique<PeerWaiting>();
  made->index_ = std::move(index);
  made->calls_ = &calls;
  return made;
}

SessionLink* PeerTarget::link() const noexcept {
  return calls_ != nullptr ? &calls_->link() : nullptr;
}

std::shared_ptr<PeerTarget> PeerTarget::gone(Loop& loop, std::uint64_t connection_id) {
  auto made = std::make_shared<PeerTarget>(loop, kNoTimeout, connection_id);
  made->end();
  return made;
}

// Metadata of a served call belongs to its caller: a handler's calls to another peer do not carry it unless
// it is passed explicitly.
PeerTarget::PeerTarget(Loop& loop, Duration timeout, std::uint64_t connection_id)
    : CallTarget(loop, timeout, false), connection_id_(connection_id) {}

PeerTarget::~PeerTarget() = default;

Status PeerTarget::why_over() const noexcept {
  return Status::of<kPeerGone>();
}

// A side that sent a goaway accepts no requests; it may still send some for the calls that it is serving,
// because the other side waits for their ends.
bool PeerTarget::takes_calls() const {
  return calls_->link().ready() || calls_->link().serves_last_calls();
}

bool PeerTarget::has_room() const {
  return calls_->link().output().has_room() && calls_->has_place();
}

Begun PeerTarget::begin_without_session(PendingCall& call, std::size_t body_bytes) {
  if (calls_ == nullptr) return call.refuse(Status::of<kPeerGone>());
  if (!takes_calls()) return call.refuse(Status::of<kPeerLeaves>());
  if (waiting_->calls.empty() && has_room()) return begin_on_session(call, body_bytes);
  const RpcLimits& limits = calls_->link().limits();
  if (body_bytes > limits.body_bytes_max) {
    return call.refuse(over_limit("a request", body_bytes, limits.body_bytes_max, "this side's", kRaiseBody));
  }
  if (waiting_->calls.count() >= limits.calls_waiting_max) {
    return call.refuse({StatusCode::kResourceExhausted, Layer::kRpc,
                        "too many calls wait for room at the peer already (calls_waiting_max)"});
  }
  waiting_->calls.add(call);
  return call.wait();
}

// A peer need not read requests, so each request pays for all memory in which it waits.
Begun PeerTarget::begin_on_session(PendingCall& call, std::size_t body_bytes) {
  FrameOutput& output = calls_->link().output();
  if (!output.charge_first_chunk()) return call.refuse(Status::of<kNoMemoryForPeer>());
  const Begun begun = calls_->begin(call, body_bytes);
  if (begun.has_ended()) output.give_back_unused();
  return begun;
}

void PeerTarget::withdraw(PendingCall& call) noexcept {
  waiting_->calls.remove(call);
}

void PeerTarget::on_room() {
  if (calls_ == nullptr || waiting_->calls.empty()) [[likely]] {
    return;
  }
  if (!takes_calls()) return waiting_->calls.fail(Status::of<kPeerLeaves>());
  while (!waiting_->calls.empty() && has_room()) {
    PendingCall& call = waiting_->calls.take();
    if (!calls_->link().output().charge_first_chunk()) {
      call.fail(Status::of<kNoMemoryForPeer>());
      continue;
    }
    call.begin_waiting(*calls_);
  }
}

void PeerTarget::end() noexcept {
  if (is_over()) return;
  calls_ = nullptr;
  if (index_ != nullptr && !tag_.empty()) index_->remove(*this);
  if (waiting_ != nullptr) waiting_->calls.fail(Status::of<kPeerGone>());
  be_over(Status::of<kPeerGone>());
}

void PeerTarget::set_tag(std::string_view tag) {
  if (calls_ == nullptr || tag == tag_) return;
  std::string text{tag};
  if (index_ != nullptr) index_->move(calls_->link().seat().target(), text);
  tag_ = std::move(text);
}

}  // namespace weft::detail
