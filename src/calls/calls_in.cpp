// SPDX-License-Identifier: Apache-2.0
#include "calls/calls_in.hpp"

#include <new>
#include <string>
#include <utility>

#include "calls/call_status.hpp"
#include "calls/method_table.hpp"
#include "calls/session.hpp"
#include "calls/worker_pool.hpp"
#include "weft/base/assert.hpp"

namespace weft {

namespace {

/// A request up to this size is copied for a handler that outlives its receiving, so that a small one does
/// not keep a whole chunk from being received into.
constexpr std::size_t kCopiedBodyBytes = 8 * 1024;

/// So many frames are taken before the clock is read again.
constexpr std::size_t kFramesPerLook = 64;
/// Who has waited for less than this is no sign of too much load.
constexpr Duration kNoWait = std::chrono::milliseconds{1};

Status exhausted(std::string_view text) {
  return {StatusCode::kResourceExhausted, Layer::kRpc, text};
}

Duration timeout_of(const wire::FrameHeader& header) {
  if (header.timeout == 0) return Duration::max();
  if ((header.flags & wire::FrameFlags::kTimeoutInSeconds) != 0) return std::chrono::seconds{header.timeout};
  return std::chrono::microseconds{header.timeout};
}

Deadline deadline_of(const wire::FrameHeader& header, TimePoint now) {
  return Deadline::after(now, timeout_of(header));
}

std::size_t padded_metadata(const wire::FrameHeader& request) {
  return wire::padded(wire::metadata_bytes(request));
}

std::size_t arguments_bytes(const wire::FrameHeader& request) {
  return request.body_bytes - padded_metadata(request);
}

Bytes arguments_of(const Frame& request) {
  return request.body.subspan(padded_metadata(request.header));
}

bool has_good_metadata(const Frame& request) {
  const std::size_t bytes = wire::metadata_bytes(request.header);
  return is_metadata(request.body.first(bytes)) && wire::padding_is_zero(request.body.data(), bytes);
}

Refusal bad_metadata() {
  return {Rejection::kBadMetadata,
          {StatusCode::kInvalidArgument, Layer::kRpc,
           "the call's metadata is not made of whole pairs, each with a key of its own"}};
}

Status over_methods_limit(std::string_view what, std::uint64_t bytes, std::uint64_t limit,
                          const MethodEntry& method) {
  return {StatusCode::kResourceExhausted, Layer::kRpc,
          [&] {
            return std::string{what} + " of " + std::to_string(bytes) + " bytes is over the limit of " +
                   std::to_string(limit) + " of method '" + std::string{method.key.name} + "'";
          },
          0, Retry::kNever};
}

/// kResourceExhausted of the rpc layer, retry after backoff, as packed_status() gives it.
constexpr std::uint16_t kNoMemory = static_cast<std::uint16_t>(
    static_cast<unsigned>(StatusCode::kResourceExhausted) | static_cast<unsigned>(Layer::kRpc) << 8 |
    static_cast<unsigned>(Retry::kBackoff) << 12);

}  // namespace

const MethodEntry* CallsIn::method_for(const wire::FrameHeader& header) const {
  if (host_.methods == nullptr) return nullptr;
  const MethodEntry* method = host_.methods->find(header.method, header.schema);
  if (method == nullptr) [[unlikely]] {
    return nullptr;
  }
  const std::uint32_t limit = method->options.body_bytes_max;
  return limit == 0 || arguments_bytes(header) <= limit ? method : nullptr;
}

Refusal CallsIn::refusal(const wire::FrameHeader& header) const {
  const MethodEntry* method = host_.methods != nullptr ? host_.methods->find_any(header.method) : nullptr;
  if (method == nullptr) {
    return {Rejection::kUnknownMethod,
            {StatusCode::kUnimplemented, Layer::kRpc,
             "the server has no such method; is the handler registered, under the same name or key?"}};
  }
  const MethodEntry* exact = host_.methods->find(header.method, header.schema);
  if (exact == nullptr) {
    return {Rejection::kWrongSchema,
            {StatusCode::kFailedPrecondition, Layer::kRpc,
             [&] {
               return "method '" + std::string{method->key.name} + "' is " +
                      method->key.schema_text(method->key) + " on the server";
             },
             kSchemaMismatch}};
  }
  return {Rejection::kOverMethodsBody,
          over_methods_limit("a request", arguments_bytes(header), exact->options.body_bytes_max, *exact)};
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
    refuse(frame.header.id,
           {Rejection::kBehind,
            exhausted("the server is behind: half of the time for this call had passed before "
                      "it was looked at, so it was not run")});
    return {};
  }
  const MethodEntry* method = method_for(frame.header);
  if (method == nullptr) [[unlikely]] {
    refuse(frame.header.id, refusal(frame.header));
    return {};
  }
  if (wire::metadata_bytes(frame.header) != 0 && !has_good_metadata(frame)) [[unlikely]] {
    refuse(frame.header.id, bad_metadata());
    return {};
  }
  if (method->kind == HandlerKind::kInline) [[likely]] {
    InlineCall call{session_, frame.header.id, arguments_of(frame)};
    method->serve_inline(*method, call);
    return {};
  }
  return serve_record(*method, frame, chunk, {});
}

Status CallsIn::serve_record(const MethodEntry& method, const Frame& frame, const ChunkRef& chunk,
                             Buffer attachment) {
  if (running_ >= session_.limits().calls_in_flight_max) [[unlikely]] {
    refuse(frame.header.id,
           {Rejection::kOverCallsInFlight,
            exhausted("the server works on as many calls of this connection as it may "
                      "(calls_in_flight_max); those that were cancelled count until they end")});
    return {};
  }
  // Asked before there is a record: one that is in no table could not be taken out of it again.
  if (table_.find(frame.header.id) != nullptr) [[unlikely]] {
    return {StatusCode::kInvalidArgument, Layer::kRpc, "two calls in flight have the same id"};
  }
  const std::size_t kept = kept_bytes(method, frame, chunk);
  if (kept != 0) [[unlikely]] {
    if (const auto refusal = reserve_kept(kept, attachment.size())) {
      refuse(frame.header.id, *refusal);
      return {};
    }
  }
  ServedCall* record = new_record(method, frame, chunk);
  if (record == nullptr) [[unlikely]] {
    if (kept != 0) host().memory->release(kept);
    refuse_without_memory(frame.header.id);
    return {};
  }
  ServedCall& call = *record;
  table_.insert(call);
  calls_.push_back(call);
  ++running_;
  call.chunk_charge_ = kept;
  call.connection_charge_ = kept + attachment.size();
  bytes_held_ += call.connection_charge_;
  if (!attachment.empty()) call.attachment_ = std::move(attachment);
  const Deadline deadline = deadline_of(frame.header, session_.loop().now());
  if (!deadline.is_infinite()) {
    call.scope_.set_deadline(deadline);
    session_.loop().arm(call, deadline.at());
  }
  run(call);
  return {};
}

// A call that keeps its body where it was received keeps the whole chunk, so that is what counts.
std::size_t CallsIn::kept_bytes(const MethodEntry& method, const Frame& frame, const ChunkRef& chunk) {
  if (arguments_bytes(frame.header) <= kCopiedBodyBytes) return padded_metadata(frame.header);
  return method.keeps_body ? chunk->capacity() : frame.body.size();
}

std::optional<Refusal> CallsIn::reserve_kept(std::size_t kept_bytes, std::size_t attachment_bytes) {
  const std::size_t room = session_.limits().connection_memory_max - bytes_held_;
  if (room < kept_bytes || room - kept_bytes < attachment_bytes) {
    return Refusal{Rejection::kOverConnectionMemory,
                   exhausted("the requests that this connection's calls keep fill its memory "
                             "(connection_memory_max)")};
  }
  if (!host().memory->try_reserve(kept_bytes)) {
    return Refusal{Rejection::kOverProcessMemory,
                   exhausted("what the server's calls keep fills its memory (process_memory_max)")};
  }
  return std::nullopt;
}

// With its body, which is the chunk's or a copy (and the frame's if it is not kept), and with room for it in
// the table; freed by the last who holds it. Metadata is kept in any case. Null when memory is out.
ServedCall* CallsIn::new_record(const MethodEntry& method, const Frame& frame, const ChunkRef& chunk) {
  const std::size_t metadata = wire::metadata_bytes(frame.header);
  const bool keeps_chunk = method.keeps_body && arguments_bytes(frame.header) > kCopiedBodyBytes;
  const Bytes wanted =
      keeps_chunk ? Bytes{} : frame.body.first(method.keeps_body ? frame.body.size() : metadata);
  std::byte* copy = nullptr;
  try {
    table_.reserve_one();
    if (!wanted.empty()) copy = static_cast<std::byte*>(detail::allocate_frame(wanted.size()));
    auto* call = new ServedCall(*this, host(), session_.loop(), method, frame.header.id);
    if (copy != nullptr) {
      std::memcpy(copy, wanted.data(), wanted.size());
      call->copied_ = {copy, wanted.size()};
    } else if (keeps_chunk) {
      call->chunk_ = chunk;
    }
    const Bytes kept = copy != nullptr ? Bytes{call->copied_} : frame.body;
    call->body_ = (method.keeps_body ? kept : frame.body).subspan(wire::padded(metadata));
    if (metadata != 0) [[unlikely]] {
      call->scope_.set_carried(kept.first(metadata));
    }
    return call;
  } catch (const std::bad_alloc&) {
    if (copy != nullptr) detail::release_frame(copy, wanted.size());
    return nullptr;
  }
}

void CallsIn::run(ServedCall& call) {
  try {
    start_handler(call);
  } catch (const std::bad_alloc&) {
    if (!call.answered()) {
      refuse_without_memory(call.id());
      call.settle();
    }
    call.let_go();
  }
}

void CallsIn::start_handler(ServedCall& call) {
  const MethodEntry& method = *call.method_;
  switch (method.kind) {
    case HandlerKind::kCoroutine:
      call.task_ = method.serve_coroutine(&method, &call);
      detail::start(call.task_, &call.scope_, call.task_end_);
      return;
    case HandlerKind::kBlocking:
      if (method.takes_attachment) call.keep_endpoints();  // it has a context to ask
      if (!host().workers->submit(call)) {
        call.refuse({Rejection::kOverWorkerQueue,
                     exhausted("all workers of the server are busy and their queue is full "
                               "(worker_queue_max)")});
        call.let_go();
      }
      return;
    default:
      method.serve_record(method, call);
      if (method.delayed) return call.let_go_unanswered();
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

std::optional<Refusal> CallsIn::attachment_refusal(const wire::FrameHeader& header) const {
  const MethodEntry* method = method_for(header);
  if (method == nullptr) return refusal(header);
  const std::uint64_t bytes = header.attachment_bytes;
  if (!method->takes_attachment) {
    return Refusal{Rejection::kAttachmentNotTaken,
                   {StatusCode::kInvalidArgument, Layer::kRpc, [&] {
                      return "method '" + std::string{method->key.name} +
                             "' takes no attachment; a handler that does has a parameter CallContext&";
                    }}};
  }
  const std::uint64_t limit = method->options.attachment_bytes_max;
  if (limit != 0 && bytes > limit) {
    return Refusal{Rejection::kOverMethodsAttachment,
                   over_methods_limit("an attachment", bytes, limit, *method)};
  }
  if (bytes > session_.limits().connection_memory_max - bytes_held_) {
    return Refusal{Rejection::kOverConnectionMemory,
                   exhausted("the attachments and requests that this connection's calls keep fill its "
                             "memory (connection_memory_max)")};
  }
  return std::nullopt;
}

Landing CallsIn::on_request_attachment(const Frame& frame) {
  landing_refusal_ = attachment_refusal(frame.header);
  if (!landing_refusal_ && !has_good_metadata(frame)) landing_refusal_ = bad_metadata();
  if (landing_refusal_) return Landing::skip();
  Result<Buffer> buffer = session_.connection().landing_memory(frame.header.attachment_bytes, host().memory);
  if (!buffer.ok()) {
    landing_refusal_ = Refusal{Rejection::kOverProcessMemory,
                               buffer.status().with_context("an attachment (process_memory_max)")};
    return Landing::skip();
  }
  landing_ = std::move(*buffer);
  return Landing::into(landing_.mutable_bytes());
}

Status CallsIn::on_request_attachment_end(const Frame& frame, const ChunkRef& chunk, bool landed) {
  ++host().taken;
  Buffer attachment = std::move(landing_);
  if (!landed) {
    WEFT_ASSERT(landing_refusal_, "a request's attachment is skipped for a reason");
    refuse(frame.header.id, *std::exchange(landing_refusal_, std::nullopt));
    return {};
  }
  const MethodEntry* method = host_.methods->find(frame.header.method, frame.header.schema);
  return serve_record(*method, frame, chunk, std::move(attachment));
}

void CallsIn::orphan_all() {
  landing_ = Buffer{};
  while (!room_waiters_.empty()) session_.loop().schedule(room_waiters_.pop_front().node);
  while (!calls_.empty()) calls_.front().orphan(CancelReason::kPeerGone);
}

void CallsIn::wake_room_waiter() {
  if (room_waiters_.empty() || session_.output_over_high_water()) return;
  session_.loop().schedule(room_waiters_.pop_front().node);
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

void CallsIn::refuse(std::uint64_t id, const Refusal& refusal) {
  session_.reject(refusal.reason, refusal.status);
  fail(id, refusal.status);
}

// Allocates nothing but the frame.
void CallsIn::refuse_without_memory(std::uint64_t id) {
  host_.rejections.count(Rejection::kOverProcessMemory);
  send_failure(id, kNoMemory, 0, "the server is out of memory for the call");
}

void CallsIn::fail(std::uint64_t id, const Status& failure) {
  send_failure(id, packed_status(failure), failure.native(), failure.message());
}

void CallsIn::send_failure(std::uint64_t id, std::uint16_t status, std::int32_t native,
                           std::string_view text) {
  wire::FrameHeader header;
  header.type = wire::FrameType::kResponse;
  header.id = id;
  header.status = status;
  header.method = static_cast<std::uint32_t>(native);
  const std::string_view message = text.substr(0, session_.peer_body_bytes_max());
  header.body_bytes = static_cast<std::uint32_t>(message.size());
  if (std::byte* body = session_.begin_frame(header)) {
    std::memcpy(body, message.data(), message.size());
    session_.end_frame();
  }
}

}  // namespace weft
