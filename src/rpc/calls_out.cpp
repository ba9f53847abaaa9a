// SPDX-License-Identifier: Apache-2.0
#include "rpc/calls_out.hpp"

#include <algorithm>
#include <string>

#include "rpc/call_status.hpp"
#include "rpc/client_core.hpp"
#include "rpc/session.hpp"

namespace weft {

namespace {

void set_timeout(wire::FrameHeader& header, Deadline deadline, TimePoint now) {
  if (deadline.is_infinite()) return;
  const auto micros = std::chrono::ceil<std::chrono::microseconds>(deadline.remaining(now)).count();
  if (micros < 0xFFFFFFFFLL) {
    header.timeout = static_cast<std::uint32_t>(std::max<std::int64_t>(micros, 1));
    return;
  }
  header.flags |= wire::FrameFlags::kTimeoutInSeconds;
  header.timeout = static_cast<std::uint32_t>(std::min<std::int64_t>(micros / 1'000'000 + 1, 0xFFFFFFFF));
}

}  // namespace

std::byte* CallsOut::begin(PendingCall& call, std::size_t body_bytes, Status& failure) {
  const std::size_t attachment_bytes = call.options_.attachment.bytes();
  if (body_bytes > session_.peer_body_bytes_max()) [[unlikely]] {
    failure = over_limit("a request", body_bytes, session_.peer_body_bytes_max(), "the server's");
    return nullptr;
  }
  if (attachment_bytes > session_.peer_attachment_bytes_max()) [[unlikely]] {
    failure =
        over_limit("an attachment", attachment_bytes, session_.peer_attachment_bytes_max(), "the server's");
    return nullptr;
  }
  wire::FrameHeader header;
  header.type = wire::FrameType::kRequest;
  header.body_bytes = static_cast<std::uint32_t>(body_bytes);
  header.method = call.method_->id;
  header.schema = call.method_->schema;
  if (!call.effective_deadline_.is_infinite()) {
    set_timeout(header, call.effective_deadline_, session_.loop().now());
  }
  if (attachment_bytes != 0) {
    header.flags |= wire::FrameFlags::kAttachment;
    header.attachment_bytes = attachment_bytes;
  }
  if (!call.options_.landing.empty()) header.flags |= wire::FrameFlags::kLandingNamed;
  header.id = take_slot(call);
  std::byte* body = session_.begin_frame(header);
  if (body == nullptr) [[unlikely]] {
    free_slot(header.id);
    failure = {StatusCode::kResourceExhausted, Layer::kRpc, "out of memory for a request"};
    return nullptr;
  }
  call.id_ = header.id;
  call.out_ = this;
  return body;
}

void CallsOut::sent(PendingCall& call) {
  session_.end_frame();
  if (call.options_.attachment.pieces() != 0) [[unlikely]] {
    queue_attachment(call);
  }
}

void CallsOut::queue_attachment(PendingCall& call) {
  const AttachmentView& attachment = call.options_.attachment;
  Outbox& outbox = session_.connection().outbox();
  for (std::size_t i = 0; i < attachment.pieces(); ++i) {
    const bool more_follows = i + 1 < attachment.pieces();
    ++call.lease_.pieces;
    if (!outbox.append_leased(attachment.piece(i), call.lease_, more_follows)) {
      --call.lease_.pieces;
      session_.close({StatusCode::kResourceExhausted, Layer::kRpc, "out of memory for an attachment"});
      break;
    }
  }
  session_.connection().want_flush();
}

void CallsOut::abandon(PendingCall& call) {
  if (!take_attachment_over(call)) {
    // The frame cannot be completed without the caller's memory, so nothing may follow it.
    session_.connection().outbox().release_all();
    session_.close(
        {StatusCode::kResourceExhausted, Layer::kRpc, "out of memory for an abandoned attachment"});
  }
  if (landing_call_ == &call) {
    landing_call_ = nullptr;
    session_.connection().abandon_landing();
  }
  free_slot(call.id_);
  call.out_ = nullptr;
  wire::FrameHeader header;
  header.type = wire::FrameType::kCancel;
  header.id = call.id_;
  if (session_.begin_frame(header) != nullptr) session_.end_frame();
  session_.owner().on_session_room(session_);
}

// All pieces share the call's lease, and the outbox takes one of them over at a time.
bool CallsOut::take_pieces_over(PendingCall& call) {
  while (call.lease_.pieces != 0) {
    if (!session_.connection().outbox().take_over(call.lease_)) return false;
  }
  return true;
}

void CallsOut::on_response(const Frame& frame) {
  PendingCall* call = find(frame.header.id);
  if (call == nullptr) [[unlikely]] {
    ++late_answers_;
    return;
  }
  answer(*call, frame);
}

void CallsOut::answer(PendingCall& call, const Frame& frame) {
  // An answer can overtake the last bytes of its own request's attachment: the server need not read what it
  // refuses. The caller's memory is still being read then.
  if (!take_attachment_over(call)) {
    session_.connection().outbox().release_all();
    session_.close({StatusCode::kResourceExhausted, Layer::kRpc, "out of memory for an answered attachment"});
  }
  free_slot(frame.header.id);
  call.out_ = nullptr;
  if (frame.header.status == 0) [[likely]] {
    call.finish(call.decode_answer(frame.body));
  } else {
    call.finish(answered_status(frame, *call.method_));
  }
}

Landing CallsOut::on_response_attachment(const Frame& frame) {
  landing_call_ = find(frame.header.id);
  landing_refusal_ = Status{};
  if (landing_call_ == nullptr) return Landing::skip();
  PendingCall& call = *landing_call_;
  const std::size_t bytes = frame.header.attachment_bytes;
  const RpcLimits& limits = session_.limits();
  MutableBytes landing = call.options_.landing;
  if (!landing.empty()) {
    if (bytes <= landing.size()) return Landing::into(landing.first(bytes));
    landing_refusal_ =
        over_limit("an answer's attachment", bytes, landing.size(), "the caller's landing buffer's");
  } else if (bytes > limits.unrequested_attachment_bytes_max) {
    landing_refusal_ = over_limit("an answer's attachment", bytes, limits.unrequested_attachment_bytes_max,
                                  "the unrequested attachment");
  } else {
    Result<Buffer> buffer = Buffer::try_allocate(bytes, session_.host().answer_memory);
    if (buffer.ok()) {
      call.answer_attachment_ = std::move(*buffer);
      return Landing::into(call.answer_attachment_.mutable_bytes());
    }
    landing_refusal_ = std::move(buffer).status().with_context("an answer's attachment (process_memory_max)");
  }
  landing_call_ = nullptr;
  return Landing::skip();
}

void CallsOut::on_response_attachment_end(const Frame& frame, bool landed) {
  PendingCall* call = find(frame.header.id);
  landing_call_ = nullptr;
  if (call == nullptr) {
    ++late_answers_;
    return;
  }
  if (landed || frame.header.status != 0) {
    call->answer_attachment_bytes_ = landed ? frame.header.attachment_bytes : 0;
    return answer(*call, frame);
  }
  free_slot(frame.header.id);
  call->out_ = nullptr;
  if (landing_refusal_.ok())
    landing_refusal_ = {StatusCode::kInternal, Layer::kRpc, "an attachment did not land"};
  call->finish(std::move(landing_refusal_));
}

void CallsOut::fail_all(const Status& why) {
  landing_call_ = nullptr;
  const Status failure{StatusCode::kUnavailable, why.layer(),
                       std::string{why.message()} + "; the call may or may not have run", why.native()};
  for (std::size_t index = 0; index < slots_.size(); ++index) {
    PendingCall* call = slots_[index].call;
    if (call == nullptr) continue;
    free_slot(wire::make_id(static_cast<std::uint32_t>(index), slots_[index].generation));
    call->out_ = nullptr;
    call->finish(why.code() == StatusCode::kCancelled ? why : failure);
  }
}

}  // namespace weft
