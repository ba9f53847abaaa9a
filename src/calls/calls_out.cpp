// SPDX-License-Identifier: Apache-2.0
#include "calls/calls_out.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>

#include "calls/call_path.hpp"
#include "calls/call_status.hpp"

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

/// Gives where the arguments begin.
std::byte* put_metadata(std::byte* body, Bytes metadata) {
  if (metadata.empty()) return body;
  const std::size_t padding = wire::padded(metadata.size()) - metadata.size();
  std::memcpy(body, metadata.data(), metadata.size());
  std::memset(body + metadata.size(), 0, padding);
  return body + metadata.size() + padding;
}

}  // namespace

std::byte* CallsOut::refuse(PendingCall& call, Status failure) {
  call.failure_ = std::move(failure);
  call.state_ = PendingCall::State::kDone;
  return nullptr;
}

std::byte* CallsOut::refuse_body(PendingCall& call, std::size_t body_bytes) {
  return refuse(call, over_limit("a request", body_bytes, session_.peer_body_bytes_max(), "the server's"));
}

std::byte* CallsOut::refuse_for_memory(PendingCall& call) {
  return refuse(call, {StatusCode::kResourceExhausted, Layer::kRpc, "out of memory for a request"});
}

bool CallsOut::add_slot() noexcept {
  try {
    slots_.emplace_back();
  } catch (const std::bad_alloc&) {
    return false;
  }
  first_free_ = static_cast<std::uint32_t>(slots_.size() - 1);
  return true;
}

std::byte* CallsOut::begin_with_options(PendingCall& call, std::size_t arguments_bytes) {
  const Bytes metadata = call.metadata();
  const std::size_t body_bytes = wire::padded(metadata.size()) + arguments_bytes;
  if (metadata.size() > wire::kMetadataBytesMax) {
    return refuse(call, over_limit("metadata", metadata.size(), wire::kMetadataBytesMax, "the protocol's"));
  }
  if (body_bytes > session_.peer_body_bytes_max()) {
    return refuse(call, over_limit("a request with its metadata", body_bytes, session_.peer_body_bytes_max(),
                                   "the server's"));
  }
  wire::FrameHeader header = request_header(*call.method_, body_bytes);
  header.status = static_cast<std::uint16_t>(metadata.size());
  set_timeout(header, call.deadline_, session_.loop().now());
  if (call.extras_ != nullptr) {
    const CallOptions& options = call.extras_->options;
    const std::size_t attachment_bytes = options.attachment.bytes();
    if (attachment_bytes > session_.peer_attachment_bytes_max()) {
      return refuse(call, over_limit("an attachment", attachment_bytes, session_.peer_attachment_bytes_max(),
                                     "the server's"));
    }
    if (attachment_bytes != 0) {
      header.flags |= wire::FrameFlags::kAttachment;
      header.attachment_bytes = attachment_bytes;
    }
    if (!options.landing.empty()) header.flags |= wire::FrameFlags::kLandingNamed;
  }
  std::byte* body = queue(call, header);
  return body != nullptr ? put_metadata(body, metadata) : nullptr;
}

void CallsOut::sent(PendingCall& call) {
  session_.end_frame();
  if (call.extras_ != nullptr) queue_attachment(*call.extras_);
}

void CallsOut::take_back(PendingCall& call, const std::byte* body) noexcept {
  const std::size_t metadata =
      call.extras_ != nullptr || call.carrying_ != nullptr ? wire::padded(call.metadata().size()) : 0;
  session_.take_back_frame(body - metadata);
  free_slot(call.id_);
  call.out_ = nullptr;
}

void CallsOut::queue_attachment(CallExtras& extras) {
  const AttachmentView& attachment = extras.options.attachment;
  Outbox& outbox = session_.connection().outbox();
  for (std::size_t i = 0; i < attachment.pieces(); ++i) {
    const bool more_follows = i + 1 < attachment.pieces();
    ++extras.lease.pieces;
    if (!outbox.append_leased(attachment.piece(i), extras.lease, more_follows)) {
      --extras.lease.pieces;
      session_.close({StatusCode::kResourceExhausted, Layer::kRpc, "out of memory for an attachment"});
      break;
    }
  }
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
bool CallsOut::take_attachment_over(PendingCall& call) {
  if (call.extras_ == nullptr) return true;
  CallExtras::AttachmentLease& lease = call.extras_->lease;
  while (lease.pieces != 0) {
    if (!session_.connection().outbox().take_over(lease)) return false;
  }
  return true;
}

// An answer can overtake the last bytes of its own request's attachment: the server need not read what it
// refuses. The caller's memory is still being read then.
void CallsOut::let_go(PendingCall& call) {
  if (!take_attachment_over(call)) {
    session_.connection().outbox().release_all();
    session_.close({StatusCode::kResourceExhausted, Layer::kRpc, "out of memory for an answered attachment"});
  }
  free_slot(call.id_);
  call.out_ = nullptr;
}

void CallsOut::answer(PendingCall& call, const Frame& frame) {
  let_go(call);
  if (frame.header.status == 0) {
    call.decode_answer(frame.body, call.failure_);
  } else {
    call.failure_ = answered_status(frame, *call.method_);
  }
  call.end();
}

// What nobody asked for is dropped.
bool CallsOut::wants_attachment(const PendingCall& call) {
  const CallExtras* extras = call.extras_;
  return extras != nullptr && (extras->gives_attachment || !extras->options.landing.empty());
}

Landing CallsOut::on_response_attachment(const Frame& frame) {
  PendingCall* const call = find(frame.header.id);
  landing_call_ = nullptr;
  landing_refusal_ = Status{};
  if (call == nullptr || !wants_attachment(*call)) return Landing::skip();
  CallExtras& extras = *call->extras_;
  const std::size_t bytes = frame.header.attachment_bytes;
  const RpcLimits& limits = session_.limits();
  MutableBytes landing = extras.options.landing;
  if (!landing.empty()) {
    if (bytes <= landing.size()) {
      landing_call_ = call;
      return Landing::into(landing.first(bytes));
    }
    landing_refusal_ =
        over_limit("an answer's attachment", bytes, landing.size(), "the caller's landing buffer's");
  } else if (bytes > limits.unrequested_attachment_bytes_max) {
    landing_refusal_ = over_limit("an answer's attachment", bytes, limits.unrequested_attachment_bytes_max,
                                  "the unrequested attachment");
  } else {
    Result<Buffer> buffer = session_.connection().landing_memory(bytes, session_.host().memory);
    if (buffer.ok()) {
      extras.answer_attachment = std::move(*buffer);
      landing_call_ = call;
      return Landing::into(extras.answer_attachment.mutable_bytes());
    }
    landing_refusal_ = std::move(buffer).status().with_context("an answer's attachment (process_memory_max)");
  }
  return Landing::skip();
}

void CallsOut::on_response_attachment_end(const Frame& frame, bool landed) {
  PendingCall* call = find(frame.header.id);
  landing_call_ = nullptr;
  if (call == nullptr) {
    ++late_answers_;
    return;
  }
  if (landed) call->extras_->answer_attachment_bytes = frame.header.attachment_bytes;
  if (landed || !wants_attachment(*call) || frame.header.status != 0) return answer(*call, frame);
  let_go(*call);
  if (landing_refusal_.ok())
    landing_refusal_ = {StatusCode::kInternal, Layer::kRpc, "an attachment did not land"};
  call->finish(std::move(landing_refusal_));
}

void CallsOut::fail_all(const Status& why) {
  landing_call_ = nullptr;
  const auto text = [&] { return std::string{why.message()} + "; the call may or may not have run"; };
  const Status failure{StatusCode::kUnavailable, why.layer(), text, why.native()};
  for (std::size_t index = 0; index < slots_.size(); ++index) {
    PendingCall* call = slots_[index].call;
    if (call == nullptr) continue;
    free_slot(wire::make_id(static_cast<std::uint32_t>(index), slots_[index].generation));
    call->out_ = nullptr;
    call->finish(why.code() == StatusCode::kCancelled ? why : failure);
  }
}

}  // namespace weft
