// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/serve/call_context.hpp"

#include <cstdint>
#include <utility>
#include <vector>

#include "calls/gate/gate_pass.hpp"
#include "weft/detail/base/run_cursor.hpp"
#include "weft/detail/calls/peers/peer_target.hpp"
#include "weft/detail/calls/serve/served_call.hpp"
#include "weft/detail/calls/terms/method_entry.hpp"
#include "weft/detail/runtime/client_end.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft {

namespace {

detail::AnswerWishes& wishes(detail::ServedCall& call) {
  auto& kept = call.envelope().wishes;
  if (kept == nullptr) kept = std::make_unique<detail::AnswerWishes>();
  return *kept;
}

detail::GivenMetadata& given_metadata(detail::ServedCall& call) {
  auto& given = call.envelope().metadata;
  if (given == nullptr) given = std::make_unique<detail::GivenMetadata>();
  return *given;
}

bool is_on_loop(const detail::ServedCall& call) {
  return Loop::current() == &call.loop();
}

/// Always false on a worker's thread: its call is answered after the handler.
bool has_answered(const detail::ServedCall& call) {
  return is_on_loop(call) && call.answered() && !call.cancelled_anywhere();
}

/// Returns why the handler may add no metadata now. On a worker's thread the call is answered after the
/// handler, unless a Reply answers it: then its loop may read the metadata while the worker adds to them.
Status refusal_of_metadata(const detail::ServedCall& call) {
  const char* reason = nullptr;
  if (has_answered(call)) reason = "metadata of an answer that was sent already";
  if (!is_on_loop(call) && call.method().delayed) {
    reason =
        "a blocking handler with a Reply adds no metadata to its answer: return the answer from the handler, "
        "or "
        "use a coroutine";
  }
  if (reason == nullptr) return {};
  return {StatusCode::kFailedPrecondition, Layer::kRpc, reason};
}

/// Notes of the connection; null without any.
const detail::CallEnvelope::Endpoints* endpoints_of(const detail::ServedCall& call) {
  const detail::CallEnvelope* const envelope = call.envelope_if_any();
  return envelope != nullptr ? envelope->endpoints.get() : nullptr;
}

bool overlap(Bytes one, Bytes other) {
  const auto begins = [](Bytes bytes) { return reinterpret_cast<std::uintptr_t>(bytes.data()); };
  return begins(one) < begins(other) + other.size() && begins(other) < begins(one) + one.size();
}

/// Some of `attachment` lies in `memory`.
bool shows(Attachment& attachment, Bytes memory) {
  if (attachment.is_buffer()) [[likely]] {
    return overlap(attachment.owner().bytes(), memory);
  }
  if (attachment.fault() != detail::RunsFault::kNone) return false;
  detail::RunCursor<const std::byte> at{attachment.view()};
  for (Bytes run = at.rest(); !run.empty(); run = at.rest()) {
    if (overlap(run, memory)) return true;
    at.pass(run.size());
  }
  return false;
}

Attachment copy_of(const Attachment& attachment) {
  std::vector<std::byte> bytes;
  bytes.reserve(attachment.size());
  detail::RunCursor<const std::byte> at{attachment.view()};
  at.take(attachment.size(), [&](Bytes run) { bytes.insert(bytes.end(), run.begin(), run.end()); });
  return Buffer::adopt(std::move(bytes));
}

}  // namespace

std::uint64_t CallContext::connection_id() const {
  return call_->connection_id();
}

std::uint64_t CallContext::call_id() const {
  return call_->id();
}

std::string_view CallContext::method() const {
  return call_->method().key.name;
}

std::string CallContext::local_endpoint() const {
  if (const auto* const kept = endpoints_of(*call_)) return kept->local;
  return call_->sink() != nullptr ? call_->sink()->local_endpoint() : std::string{};
}

std::string CallContext::remote_endpoint() const {
  if (const auto* const kept = endpoints_of(*call_)) return kept->remote;
  return call_->sink() != nullptr ? call_->sink()->remote_endpoint() : std::string{};
}

Identity CallContext::identity() const {
  const detail::CallEnvelope* const envelope = call_->envelope_if_any();
  if (envelope != nullptr && envelope->pass != nullptr) return envelope->pass->caller();
  if (const auto* const kept = endpoints_of(*call_)) return kept->identity;
  return call_->sink() != nullptr ? call_->sink()->peer_identity() : Identity{};
}

bool CallContext::may_call(std::string_view method) const {
  const detail::MethodGate* const gate = call_->method().gate;
  Authorizer* const authorizer = gate != nullptr ? gate->server.authorizer() : nullptr;
  return authorizer == nullptr || authorizer->may_call(identity(), method);
}

Deadline CallContext::deadline() const {
  return call_->scope().deadline();
}

MetadataView CallContext::metadata() const {
  return MetadataView{call_->scope().carried()};
}

Result<void> CallContext::add_answer_metadata(std::string_view key, std::string_view value) {
  if (Status refusal = refusal_of_metadata(*call_); !refusal.ok()) return refusal;
  return given_metadata(*call_).trailing.add(key, value);
}

// On the loop they leave at once. A worker's leave when the loop answers for it, even after a failure here.
Result<void> CallContext::add_initial_metadata(std::string_view key, std::string_view value) {
  if (Status refusal = refusal_of_metadata(*call_); !refusal.ok()) return refusal;
  Result<void> added = given_metadata(*call_).initial.add(key, value);
  if (!added.ok() || !is_on_loop(*call_)) return added;
  if (Status sent = call_->send_metadata(false); !sent.ok()) return sent;
  return {};
}

void* CallContext::find_attached(const std::type_info& type) const noexcept {
  const detail::CallEnvelope* const envelope = call_->envelope_if_any();
  const bool has_passed = envelope != nullptr && envelope->pass != nullptr;
  return has_passed ? envelope->pass->objects().find(type) : nullptr;
}

bool CallContext::cancelled() const {
  return call_->cancelled_anywhere();
}

Bytes CallContext::attachment() const {
  const detail::CallEnvelope* const envelope = call_->envelope_if_any();
  if (envelope == nullptr) return {};
  return envelope->received.empty() ? envelope->attachment.bytes() : envelope->received.bytes();
}

Buffer CallContext::take_attachment() {
  detail::CallEnvelope* const envelope = call_->envelope_if_any();
  if (envelope == nullptr) return {};
  return envelope->received.empty() ? std::move(envelope->attachment) : envelope->received.take();
}

// The chunk that a short attachment came in is received into again when the handler has ended.
void CallContext::set_attachment(Attachment attachment) {
  detail::CallEnvelope& envelope = call_->envelope();
  const Bytes received = envelope.received.shown();
  const bool is_shown = !received.empty() && shows(attachment, received);
  if (is_shown) [[unlikely]] {
    attachment = copy_of(attachment);
  }
  envelope.answer_attachment = std::move(attachment);
}

void CallContext::set_shared_attachment(Buffer attachment) {
  const AttachmentView memory{attachment.bytes()};
  set_attachment({memory.shared(), std::move(attachment)});
}

void CallContext::on_answer_sent(detail::UniqueFunction<void(bool sent)> callback) {
  wishes(*call_).on_sent = std::move(callback);
}

void CallContext::report_progress(std::shared_ptr<TransferProgress> progress) {
  wishes(*call_).progress = std::move(progress);
}

void CallContext::set_attachment_rate(std::uint64_t bytes_per_second) {
  wishes(*call_).rate = bytes_per_second;
}

std::shared_ptr<detail::PeerTarget> CallContext::peer_target() const {
  if (const auto* const kept = endpoints_of(*call_); kept != nullptr && kept->peer != nullptr) {
    return kept->peer;
  }
  std::shared_ptr<detail::PeerTarget> peer;
  if (call_->sink() != nullptr) peer = call_->sink()->peer();
  return peer != nullptr ? peer : detail::PeerTarget::gone(call_->loop(), call_->connection_id());
}

std::shared_ptr<void>& CallContext::connection_tag() {
  WEFT_ASSERT(
      detail::is_thread_of(call_->loop()),
      "CallContext::connection_tag() was called on another thread than the connection's loop, as in a "
      "blocking handler: read it in a handler of the loop, and pass a copy of the shared_ptr on");
  // A handler with a lost connection may still store an object here; it is destroyed with the call.
  if (call_->sink() != nullptr) return call_->sink()->connection_tag();
  auto& tag = call_->envelope().orphan_tag;
  if (tag == nullptr) tag = std::make_unique<std::shared_ptr<void>>();
  return *tag;
}

void CallContext::close_connection() {
  call_->envelope().close_after_answer.store(true, std::memory_order_relaxed);
}

}  // namespace weft
