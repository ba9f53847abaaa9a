// SPDX-License-Identifier: Apache-2.0
#include "rpc/calls_in.hpp"

#include <string>
#include <utility>

#include "rpc/call_status.hpp"
#include "rpc/method_table.hpp"
#include "rpc/session.hpp"
#include "rpc/worker_pool.hpp"

namespace weft {

namespace {

/// A request up to this size is copied for a handler that outlives its receiving, so that a small one does
/// not keep a whole chunk from being received into.
constexpr std::size_t kCopiedBodyBytes = 8 * 1024;

/// So many frames are taken before the clock is read again.
constexpr std::size_t kFramesPerLook = 64;
/// Who has waited for less than this is no sign of too much load.
constexpr Duration kNoWait = std::chrono::milliseconds{1};

Status exhausted(std::string text) {
  return {StatusCode::kResourceExhausted, Layer::kRpc, std::move(text)};
}

Duration timeout_of(const wire::FrameHeader& header) {
  if (header.timeout == 0) return Duration::max();
  if ((header.flags & wire::FrameFlags::kTimeoutInSeconds) != 0) return std::chrono::seconds{header.timeout};
  return std::chrono::microseconds{header.timeout};
}

Deadline deadline_of(const wire::FrameHeader& header, TimePoint now) {
  return Deadline::after(now, timeout_of(header));
}

}  // namespace

const MethodEntry* CallsIn::method_for(const wire::FrameHeader& header) const {
  if (host_.methods == nullptr) return nullptr;
  const MethodEntry* method = host_.methods->find(header.method, header.schema);
  if (method == nullptr) [[unlikely]] {
    return nullptr;
  }
  const std::uint32_t limit = method->options.body_bytes_max;
  return limit == 0 || header.body_bytes <= limit ? method : nullptr;
}

Status CallsIn::refusal(const wire::FrameHeader& header) const {
  const MethodEntry* method = host_.methods != nullptr ? host_.methods->find_any(header.method) : nullptr;
  if (method == nullptr) {
    return {StatusCode::kUnimplemented, Layer::kRpc,
            "the server has no such method; is the handler registered, under the same name or key?"};
  }
  const MethodEntry* exact = host_.methods->find(header.method, header.schema);
  if (exact == nullptr) {
    return {
        StatusCode::kFailedPrecondition, Layer::kRpc,
        "method '" + std::string{method->key.name} + "' is " + method->key.schema_text() + " on the server",
        kSchemaMismatch};
  }
  return {StatusCode::kResourceExhausted, Layer::kRpc,
          "a request of " + std::to_string(header.body_bytes) + " bytes is over the limit of " +
              std::to_string(exact->options.body_bytes_max) + " of method '" + std::string{method->key.name} +
              "'",
          0, Retry::kNever};
}

void CallsIn::begin_batch(std::size_t frames) {
  if (host_.methods == nullptr) return;
  host_.taken_since_look += frames;
  host_.now = std::max(host_.now, session_.loop().now());
  if (host_.taken_since_look >= kFramesPerLook) {
    host_.taken_since_look = 0;
    host_.now = session_.loop().clock().now();
  }
  waited_ = host_.now - session_.connection().behind_since();
}

bool CallsIn::waited_too_long(const wire::FrameHeader& header) const {
  return waited_ > timeout_of(header) / 2;
}

Status CallsIn::on_request(const Frame& frame, const ChunkRef& chunk) {
  ++host_.taken;
  if (waited_ > kNoWait && waited_too_long(frame.header)) [[unlikely]] {
    ++host_.refused;
    fail(frame.header.id, exhausted("the server is behind: half of the time for this call had passed before "
                                    "it was looked at, so it was not run"));
    return {};
  }
  const MethodEntry* method = method_for(frame.header);
  if (method == nullptr) [[unlikely]] {
    ++host_.refused;
    fail(frame.header.id, refusal(frame.header));
    return {};
  }
  if (method->kind == HandlerKind::kInline) [[likely]] {
    InlineCall call{session_, frame.header.id, frame.body};
    method->serve_inline(*method, call);
    return {};
  }
  return serve_record(*method, frame, chunk, {});
}

Status CallsIn::serve_record(const MethodEntry& method, const Frame& frame, const ChunkRef& chunk,
                             Buffer attachment) {
  if (running_ >= session_.limits().calls_in_flight_max) [[unlikely]] {
    ++host().refused;
    fail(frame.header.id, exhausted("the server works on as many calls of this connection as it may "
                                    "(calls_in_flight_max); those that were cancelled count until they end"));
    return {};
  }
  // Asked before there is a record: one that is in no table could not be taken out of it again.
  if (table_.find(frame.header.id) != nullptr) [[unlikely]] {
    return {StatusCode::kInvalidArgument, Layer::kRpc, "two calls in flight have the same id"};
  }
  // Freed by the last who holds it.
  ServedCall& call = *new ServedCall(*this, host(), session_.loop(), method, frame.header.id);
  table_.insert(call);
  calls_.push_back(call);
  ++running_;
  attachment_bytes_held_ += attachment.size();
  call.attachment_charge_ = attachment.size();
  call.attachment_ = std::move(attachment);
  keep_body(call, frame, chunk);
  const Deadline deadline = deadline_of(frame.header, session_.loop().now());
  if (!deadline.is_infinite()) {
    call.scope_.set_deadline(deadline);
    session_.loop().arm(call, deadline.at());
  }
  run(call);
  return {};
}

void CallsIn::keep_body(ServedCall& call, const Frame& frame, const ChunkRef& chunk) {
  call.body_ = frame.body;
  if (frame.body.empty()) return;
  if (frame.body.size() > kCopiedBodyBytes) {
    call.chunk_ = chunk;
    return;
  }
  std::byte* copy = static_cast<std::byte*>(detail::allocate_frame(frame.body.size()));
  std::memcpy(copy, frame.body.data(), frame.body.size());
  call.copied_body_ = copy;
  call.body_ = {copy, frame.body.size()};
}

void CallsIn::run(ServedCall& call) {
  const MethodEntry& method = *call.method_;
  switch (method.kind) {
    case HandlerKind::kCoroutine:
      call.task_ = method.serve_coroutine(&method, &call);
      detail::start(call.task_, &call.scope_, call.task_end_);
      return;
    case HandlerKind::kBlocking:
      if (method.takes_attachment) call.keep_endpoints();  // it has a context to ask
      if (!host().workers->submit(call)) {
        ++host().refused;
        call.fail(exhausted("all workers of the server are busy and their queue is full (worker_queue_max)"));
        call.let_go();
      }
      return;
    default:
      method.serve_record(method, call);
      call.let_go();
  }
}

void CallsIn::on_cancel(std::uint64_t id) {
  ServedCall* call = table_.find(id);
  if (call == nullptr || call->answered()) return;
  call->cancel(CancelReason::kPeerCancelled);
  // Nobody waits for an answer: whatever the handler gives is dropped.
  call->settle();
}

Landing CallsIn::on_request_attachment(const Frame& frame) {
  const MethodEntry* method = method_for(frame.header);
  landing_refusal_ = method != nullptr ? Status{} : refusal(frame.header);
  const std::uint64_t bytes = frame.header.attachment_bytes;
  if (landing_refusal_.ok() && !method->takes_attachment) {
    landing_refusal_ = {StatusCode::kInvalidArgument, Layer::kRpc,
                        "method '" + std::string{method->key.name} +
                            "' takes no attachment; a handler that does has a parameter CallContext&"};
  }
  if (landing_refusal_.ok() && method->options.attachment_bytes_max != 0 &&
      bytes > method->options.attachment_bytes_max) {
    landing_refusal_ = {StatusCode::kResourceExhausted, Layer::kRpc,
                        "an attachment of " + std::to_string(bytes) + " bytes is over the limit of " +
                            std::to_string(method->options.attachment_bytes_max) + " of method '" +
                            std::string{method->key.name} + "'",
                        0, Retry::kNever};
  }
  if (!landing_refusal_.ok()) return Landing::skip();
  if (bytes > session_.limits().connection_memory_max - attachment_bytes_held_) {
    landing_refusal_ = exhausted(
        "the attachments of this connection's calls fill its memory "
        "(connection_memory_max)");
    return Landing::skip();
  }
  Result<Buffer> buffer = Buffer::try_allocate(bytes, host().memory);
  if (!buffer.ok()) {
    landing_refusal_ = std::move(buffer).status();
    return Landing::skip();
  }
  landing_ = std::move(*buffer);
  return Landing::into(landing_.mutable_bytes());
}

Status CallsIn::on_request_attachment_end(const Frame& frame, const ChunkRef& chunk, bool landed) {
  ++host().taken;
  Buffer attachment = std::move(landing_);
  if (!landed) {
    ++host().refused;
    if (landing_refusal_.ok()) landing_refusal_ = exhausted("the attachment could not be received");
    fail(frame.header.id, landing_refusal_);
    return {};
  }
  const MethodEntry* method = host_.methods->find(frame.header.method, frame.header.schema);
  return serve_record(*method, frame, chunk, std::move(attachment));
}

void CallsIn::orphan_all() {
  landing_ = Buffer{};
  while (!room_waiters_.empty()) room_waiters_.pop_front().wake();
  while (!calls_.empty()) calls_.front().orphan(CancelReason::kPeerGone);
}

void CallsIn::wake_room_waiter() {
  if (room_waiters_.empty() || session_.output_over_high_water()) return;
  room_waiters_.pop_front().wake();
}

std::byte* CallsIn::begin_answer(std::uint64_t id, std::size_t body_bytes, std::uint64_t attachment_bytes) {
  if (body_bytes > session_.peer_body_bytes_max()) [[unlikely]] {
    fail(id, over_limit("the answer", body_bytes, session_.peer_body_bytes_max(), "the caller's"));
    return nullptr;
  }
  if (attachment_bytes > session_.peer_attachment_bytes_max()) [[unlikely]] {
    fail(id, over_limit("the answer's attachment", attachment_bytes, session_.peer_attachment_bytes_max(),
                        "the caller's"));
    return nullptr;
  }
  wire::FrameHeader header;
  header.type = wire::FrameType::kResponse;
  header.body_bytes = static_cast<std::uint32_t>(body_bytes);
  header.id = id;
  if (attachment_bytes != 0) {
    header.flags = wire::FrameFlags::kAttachment;
    header.attachment_bytes = attachment_bytes;
  }
  return session_.begin_frame(header);
}

void CallsIn::fail(std::uint64_t id, const Status& failure) {
  wire::FrameHeader header;
  header.type = wire::FrameType::kResponse;
  header.id = id;
  header.status = packed_status(failure);
  header.method = static_cast<std::uint32_t>(failure.native());
  const std::string_view message = failure.message().substr(0, session_.peer_body_bytes_max());
  header.body_bytes = static_cast<std::uint32_t>(message.size());
  if (std::byte* body = session_.begin_frame(header)) {
    std::memcpy(body, message.data(), message.size());
    session_.end_frame();
  }
}

}  // namespace weft
