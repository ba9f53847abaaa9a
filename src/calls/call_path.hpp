// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calls/calls_out.hpp"
#include "calls/client_core.hpp"
#include "calls/session.hpp"
#include "weft/runtime/loop.hpp"

/// The way of a small call that goes well, through the parts it passes: written where those who begin calls
/// and those who receive answers can take all of it into one function. What is rare is behind a call to the
/// part's own source file.
namespace weft {

[[gnu::always_inline]] inline std::byte* ClientCore::begin(PendingCall& call, std::size_t body_bytes) {
  if (session_ == nullptr || waiting_count_ != 0 || !session_->has_room()) [[unlikely]] {
    wait_or_refuse(call, body_bytes);
    return nullptr;
  }
  return session_->calls_out().begin(call, body_bytes);
}

[[gnu::always_inline]] inline std::byte* CallsOut::begin(PendingCall& call, std::size_t body_bytes) {
  if (body_bytes > session_.peer_body_bytes_max()) [[unlikely]] {
    return refuse_body(call, body_bytes);
  }
  if (call.extras_ != nullptr || !call.deadline_.is_infinite() || call.carrying_ != nullptr) {
    return begin_with_options(call, body_bytes);
  }
  return queue(call, request_header(*call.method_, body_bytes));
}

inline wire::FrameHeader CallsOut::request_header(const MethodKey& method, std::size_t body_bytes) {
  wire::FrameHeader header;
  header.type = wire::FrameType::kRequest;
  header.body_bytes = static_cast<std::uint32_t>(body_bytes);
  header.method = method.id;
  header.schema = method.schema;
  return header;
}

// The header never has an address here, so it goes from registers into the outbox.
[[gnu::always_inline]] inline std::byte* CallsOut::queue(PendingCall& call, wire::FrameHeader header) {
  if (first_free_ == kNoSlot && !add_slot()) [[unlikely]] {
    return refuse_for_memory(call);
  }
  header.id = take_slot(call);
  std::byte* body = session_.begin_frame(header);
  if (body == nullptr) [[unlikely]] {
    free_slot(header.id);
    return refuse_for_memory(call);
  }
  call.id_ = header.id;
  call.out_ = this;
  call.state_ = PendingCall::State::kSent;
  call.needs_sent_ = call.extras_ != nullptr || session_.frames_need_end();
  return body;
}

inline void CallsOut::on_response(const Frame& frame) {
  PendingCall* call = find(frame.header.id);
  if (call == nullptr) [[unlikely]] {
    ++late_answers_;
    return;
  }
  if (call->extras_ != nullptr || frame.header.status != 0) [[unlikely]] {
    return answer(*call, frame);
  }
  free_slot(frame.header.id);
  call->out_ = nullptr;
  call->decode_answer(frame.body, call->failure_);
  call->end();
}

inline void PendingCall::end() noexcept {
  state_ = State::kDone;
  if (armed()) client_->loop().disarm(*this);
  stop_listening();
  if (waiter_ != nullptr) client_->loop().schedule(*waiter_);
}

}  // namespace weft
