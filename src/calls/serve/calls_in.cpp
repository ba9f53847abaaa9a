// SPDX-License-Identifier: Apache-2.0
#include "calls/serve/calls_in.hpp"

#include <new>
#include <string>
#include <utility>

#include "calls/gate/intercepted_sink.hpp"
#include "calls/sending/session_link.hpp"
#include "calls/serve/answer_rate.hpp"
#include "calls/serve/call_at_once.hpp"
#include "calls/stream/session_streams.hpp"
#include "calls/terms/call_status.hpp"
#include "weft/detail/base/assert.hpp"
#include "weft/detail/base/saturated.hpp"
#include "weft/detail/calls/serve/inline_call.hpp"
#include "weft/detail/calls/serve/served_exchange.hpp"
#include "weft/detail/calls/terms/chunk_keeping.hpp"

namespace weft::detail {

namespace {

/// A shorter wait than this is no sign of too much load.
constexpr Duration kNoWait = std::chrono::milliseconds{1};

Duration timeout_of(wire::RequestView request) {
  if (request.timeout() == 0) return Duration::max();
  if (request.timeout_is_in_seconds()) return std::chrono::seconds{request.timeout()};
  return std::chrono::microseconds{request.timeout()};
}

Deadline deadline_of(wire::RequestView request, TimePoint now) {
  return Deadline::after(now, timeout_of(request));
}

bool has_good_metadata(const Frame& request) {
  const std::size_t bytes = wire::RequestView{request.header}.metadata_bytes();
  return is_metadata(request.body.first(bytes)) && wire::padding_is_zero(request.body.data(), bytes);
}

/// Returns the request of a frame with good metadata.
ReceivedRequest request_of(const Frame& frame) {
  return {frame.header.id, frame.body, wire::RequestView{frame.header}.metadata_bytes()};
}

/// Returns no metadata if the body has not arrived or is invalid.
MetadataView metadata_of(const Frame& request) {
  const std::size_t bytes = wire::RequestView{request.header}.metadata_bytes();
  return request.body.size() >= bytes && has_good_metadata(request) ? MetadataView{request.body.first(bytes)}
                                                                    : MetadataView{};
}

Refusal bad_metadata() {
  return {RefusalReason::kBadMetadata,
          {StatusCode::kInvalidArgument, Layer::kRpc,
           "the call's metadata are malformed: not made of whole pairs, each with a key, or more than 64"}};
}

}  // namespace

CallsIn::CallsIn(SessionLink& link, CallsHost& host)
    : link_(link),
      host_(host),
      answers_(link, host, served_),
      served_(answers_, host, link.loop(), link.limits()),
      check_(host.methods) {}

void CallsIn::begin_batch(TimePoint held_since) {
  if (!check_.serves()) return;
  waited_ = link_.loop().now() - std::min(link_.connection().empty_at(), held_since);
  held_since_ = held_since;
  served_.counting().receive(held_since);
  if (arriving_ != nullptr && arriving_->has_body()) [[unlikely]] {
    arriving_->release_body();
  }
}

Status CallsIn::on_held_request(const Frame& frame, TimePoint since) {
  const Duration waited = std::exchange(waited_, saturated_difference(link_.loop().now(), since));
  const TimePoint held_since = std::exchange(held_since_, since);
  served_.counting().receive(since);
  Status status = on_request(frame, {});
  served_.counting().receive(held_since);
  waited_ = waited;
  held_since_ = held_since;
  return status;
}

// After a silence of the peer the request may have arrived just now, or long ago while the loop was away.
// Only the carrier can tell, and is asked once for a batch.
bool CallsIn::is_too_late(wire::RequestView request) {
  const Duration timeout = timeout_of(request);
  const TimePoint now = link_.loop().now();
  if (saturated_sum(held_since_, timeout) <= now) return true;
  if (waited_ <= timeout / 2) return false;
  const Connection& connection = link_.connection();
  waited_ = now - std::min(connection.behind_since(), connection.arrived_by(now));
  return waited_ > kNoWait && waited_ > timeout / 2;
}

Status CallsIn::on_request(const Frame& frame, const ChunkRef& chunk) {
  answers_.count_request();
  const wire::RequestView request{frame.header};
  // The body was skipped: either for a recorded reason, or because there is no such method.
  if (frame.body.size() < frame.header.body_bytes) [[unlikely]] {
    const bool has_reason = arriving_ != nullptr && arriving_->refused(request.id());
    if (has_reason || check_.method_for(request) != nullptr) {
      refuse_request(request, has_reason ? arriving_->take_refusal() : over_process_memory());
      return {};
    }
  }
  // Half of the caller's timeout has passed before the request was processed.
  if (waited_ > kNoWait && is_too_late(request)) [[unlikely]] {
    refuse_request(request, {RefusalReason::kBehind,
                             exhausted("the server is behind: half of the time for this call had passed "
                                       "before it was looked at, so it was not run"),
                             waited_});
    return {};
  }
  const MethodEntry* method = check_.method_for(request);
  if (method == nullptr) [[unlikely]] {
    const auto refusal = served_.gate().check_caller(check_.named(request), metadata_of(frame));
    refuse_request(request, refusal ? *refusal : check_.refusal(request));
    return {};
  }
  served_.counting().taken(*method);
  if (request.metadata_bytes() != 0 && !has_good_metadata(frame)) [[unlikely]] {
    const CallCounting::Taking taking{served_.counting(), frame.header.id};
    const auto refusal = served_.gate().check_caller(method, {});
    answers_.refuse_unrun(request.id(), refusal ? *refusal : bad_metadata());
    return {};
  }
  const bool has_attachment = request.attachment_bytes() != 0;
  if (has_attachment && frame.header.following_bytes() == 0) [[unlikely]] {
    return begin_arriving(frame, chunk);
  }
  if (method->straight && !has_attachment) [[likely]] {
    const CallCounting::Taking taking{served_.counting(), frame.header.id};
    InlineCall call{answers_, request.id(), frame.body.subspan(request.padded_metadata_bytes()), &chunk};
    method->serve_inline(*method, call);
    return {};
  }
  if (method->timed && !has_attachment) {
    CallCounting& counting = served_.counting();
    const CallCounting::Taking taking{counting, frame.header.id};
    InlineCall call{answers_, request.id(), frame.body.subspan(request.padded_metadata_bytes()), &chunk};
    method->serve_inline(*method, call);
    counting.function_ended(*method, frame.body.size(), link_.output().body_bytes());
    return {};
  }
  if (method->gate != nullptr) [[unlikely]] {
    return serve_gated(*method, frame, chunk);
  }
  RequestExtras arrived{deadline_of(request, link_.loop().now())};
  if (has_attachment) {
    if (!RequestCheck::takes_attachment(*method, request)) [[unlikely]] {
      const CallCounting::Taking taking{served_.counting(), frame.header.id};
      return served_.refuse_passed(request.id(), *check_.attachment_refusal(*method, request), arrived.pass);
    }
    arrived.received = whole_attachment(frame, link_.output().needs_end());
  }
  return serve(*method, frame, chunk, std::move(arrived));
}

bool CallsIn::takes_whole(wire::RequestView request) const {
  const MethodEntry* const method = check_.method_for(request);
  return method != nullptr && !method->key.chooses_landing;
}

Status CallsIn::serve_gated(const MethodEntry& method, const Frame& frame, const ChunkRef& chunk) {
  const wire::RequestView request{frame.header};
  RequestExtras arrived{deadline_of(request, link_.loop().now())};
  const bool has_attachment = request.attachment_bytes() != 0;
  if (is_arriving(request.id())) {
    served_.counting().dropped();
    return ServedCalls::id_in_use();
  }
  auto refusal = served_.gate().check_caller(&method, request_of(frame).metadata());
  if (!refusal && has_attachment) refusal = check_.attachment_refusal(method, request);
  if (refusal) {
    served_.refuse(request.id(), *refusal);
    return {};
  }
  if (has_attachment) arrived.received = whole_attachment(frame, link_.output().needs_end());
  return served_.serve_gated(method, request_of(frame), chunk, std::move(arrived),
                             request.attachment_bytes());
}

Status CallsIn::serve(const MethodEntry& method, const Frame& frame, const ChunkRef& chunk,
                      RequestExtras&& extras) {
  if (is_arriving(frame.header.id)) [[unlikely]] {
    served_.counting().dropped();
    return ServedCalls::id_in_use();
  }
  return served_.serve(method, request_of(frame), chunk, std::move(extras));
}

bool CallsIn::is_arriving(std::uint64_t id) const {
  return arriving_calls_ != nullptr && arriving_calls_->find(id) != nullptr;
}

// A call whose attachment was still arriving never ran.
void CallsIn::on_cancel(std::uint64_t id) {
  if (ServedCall* call = served_.find(id)) call->cancel_by_peer();
  if (!answers_.break_off(id) && arriving_calls_ != nullptr) arriving_calls_->cancel(id);
}

ArrivingRequest& CallsIn::need_arriving_request() {
  if (arriving_ == nullptr) {
    arriving_ = std::make_unique<ArrivingRequest>(served_.admission(), *host_.memory);
  }
  return *arriving_;
}

ArrivingCalls& CallsIn::need_arriving_calls() {
  if (arriving_calls_ == nullptr) {
    ArrivingCallsOwner& owner = *this;
    arriving_calls_ = std::make_unique<ArrivingCalls>(owner, link_, served_.admission(), host_.refusals,
                                                      host_.table_secret);
  }
  return *arriving_calls_;
}

Status CallsIn::begin_arriving(const Frame& frame, const ChunkRef& chunk) {
  const wire::RequestView request{frame.header};
  ArrivingCalls& arriving = need_arriving_calls();
  if (find(request.id()) != nullptr || is_arriving(request.id())) {
    served_.counting().dropped();
    return ServedCalls::id_in_use();
  }
  std::optional<Refusal> refusal = served_.gate().check_caller(check_.named(request), metadata_of(frame));
  if (!refusal) refusal = check_.attachment_refusal(request);
  const Deadline deadline = deadline_of(request, link_.loop().now());
  OwnedPass pass;
  if (!refusal) refusal = served_.gate().refuse_early(*check_.find(request), served_.admission().calls());
  if (!refusal)
    refusal = served_.gate().admit(*check_.find(request), request_of(frame), request.attachment_bytes(),
                                   deadline, pass);
  if (!refusal && request.expects_continue() && check_.find(request)->key.chooses_landing) {
    RequestExtras arrived{deadline};
    arrived.pass = std::move(pass);
    arrived.incoming.reset(new IncomingTransfer(arriving, request.id(), request.attachment_bytes(),
                                                IncomingTransfer::Way::kAsked));
    return serve(*check_.find(request), frame, chunk, std::move(arrived));
  }
  // Also for a handler that chooses: its caller sends at once, for it does not know.
  if (!refusal) refusal = arriving.begin(frame, chunk, deadline, pass);
  if (!refusal && request.expects_continue()) arriving.send_continue(request.id());
  return refusal ? served_.refuse_passed(request.id(), *refusal, pass) : Status{};
}

void CallsIn::on_call_arrived(ArrivingCall& call, Buffer attachment) {
  const MethodEntry& method = *check_.find(call.request());
  served_.counting().go_on_with(method);
  served_.counting().receive();
  RequestExtras arrived{call.deadline()};
  arrived.pass = call.take_pass();
  if (method.key.chooses_landing) {
    arrived.incoming.reset(new IncomingTransfer(*arriving_calls_, call.id(), std::move(attachment)));
  } else {
    arrived.attachment = std::move(attachment);
  }
  Status status = served_.serve(method, request_of(call.frame()), call.chunk(), std::move(arrived));
  if (!status.ok()) link_.close(std::move(status));
  keep_answer_to_rate(*this, call.id(), call.answer_rate());
}

void CallsIn::on_call_refused(wire::RequestView request, const Refusal& refusal) {
  served_.counting().go_on_with(*check_.find(request));
  served_.counting().receive();
  answers_.refuse_unrun(request.id(), refusal);
}

void CallsIn::on_call_failed(wire::RequestView request, const Status& failure) {
  served_.counting().go_on_with(*check_.find(request));
  served_.counting().receive();
  answers_.fail(request.id(), failure);
}

// A server that checks callers waits for the call's metadata, which comes first in the body, and then
// decides: no more is stored of a refused call.
bool CallsIn::wants_body(wire::RequestView request, Bytes arrived) {
  const MethodEntry* const method = check_.method_for(request);
  ArrivingRequest& arriving = need_arriving_request();
  if (served_.gate().looks_at_callers()) [[unlikely]] {
    const std::size_t told = wire::kHeaderBytes + request.metadata_bytes();
    if (arrived.size() < told) return arriving.charge_body(request.id(), arrived.size());
    if (arriving.body_charged() < told) {
      const Bytes metadata = arrived.subspan(wire::kHeaderBytes, request.metadata_bytes());
      auto refusal = served_.gate().check_caller(
          check_.named(request), is_metadata(metadata) ? MetadataView{metadata} : MetadataView{}, true);
      if (!refusal && method == nullptr) refusal = check_.refusal(request);
      if (!refusal && method->gate != nullptr)
        refusal = served_.gate().refuse_early(*method, served_.admission().calls());
      if (refusal) {
        arriving.refuse(request.id(), *std::move(refusal));
        return false;
      }
    }
    return arriving.charge_body(request.id(), arrived.size());
  }
  if (method == nullptr) return false;
  if (method->gate != nullptr && !arriving.has_body()) [[unlikely]] {
    if (auto refusal = served_.gate().refuse_early(*method, served_.admission().calls())) {
      arriving.refuse(request.id(), std::move(*refusal));
      return false;
    }
  }
  return arriving.charge_body(request.id(), arrived.size());
}

Landing CallsIn::on_request_attachment(const Frame& frame) {
  answers_.count_request();
  const wire::RequestView request{frame.header};
  ArrivingRequest& arriving = need_arriving_request();
  if (arriving.refused(request.id())) return Landing::skip();
  std::optional<Refusal> refusal = served_.gate().check_caller(check_.named(request), metadata_of(frame));
  if (!refusal) refusal = check_.attachment_refusal(request);
  if (!refusal) refusal = served_.admission().refuse_arriving(request.attachment_bytes());
  if (!refusal && !has_good_metadata(frame)) refusal = bad_metadata();
  if (!refusal) refusal = served_.gate().refuse_early(*check_.find(request), served_.admission().calls());
  const Deadline deadline = deadline_of(request, link_.loop().now());
  if (!refusal)
    refusal = served_.gate().admit(*check_.find(request), request_of(frame), request.attachment_bytes(),
                                   deadline, arriving_pass_);
  if (refusal) {
    arriving.refuse(request.id(), std::move(*refusal));
    return Landing::skip();
  }
  if (check_.find(request)->key.chooses_landing) return serve_early(*check_.find(request), frame);
  Result<Buffer> buffer = link_.connection().landing_memory(frame.header.attachment_bytes);
  if (!buffer.ok()) {
    arriving.refuse(request.id(), no_memory_to_land(buffer.status()));
    return Landing::skip();
  }
  return Landing::into(arriving.begin_attachment(request.id(), std::move(*buffer)));
}

// The arguments are copied, because the connection needs their chunk until the attachment has arrived.
Landing CallsIn::serve_early(const MethodEntry& method, const Frame& frame) {
  const wire::RequestView request{frame.header};
  ArrivingCalls& arriving = need_arriving_calls();
  early_ = true;
  served_.counting().receive();
  served_.counting().taken(method);
  if (arriving_ != nullptr) arriving_->release_body();
  RequestExtras arrived{deadline_of(request, link_.loop().now())};
  arrived.pass = std::move(arriving_pass_);
  arrived.incoming.reset(new IncomingTransfer(arriving, request.id(), request.attachment_bytes(),
                                              IncomingTransfer::Way::kFollows));
  Status status = serve(method, frame, ChunkRef{}, std::move(arrived));
  if (!status.ok()) {
    link_.close(std::move(status));
    return Landing::skip();
  }
  ServedCall* const call = served_.find(request.id());
  const CallEnvelope* const envelope = call != nullptr ? call->envelope_if_any() : nullptr;
  IncomingTransfer* const transfer = envelope != nullptr ? envelope->incoming.get() : nullptr;
  if (transfer == nullptr || !transfer->lands()) return Landing::skip();
  return arriving.land_following(*transfer);
}

void CallsIn::on_request_attachment_progress(std::uint64_t left) {
  if (arriving_calls_ != nullptr) arriving_calls_->on_progress(left);
  if (arriving_ != nullptr && !arriving_->charge_attachment(left)) link_.connection().abandon_landing();
}

Status CallsIn::on_request_attachment_end(const Frame& frame, const ChunkRef& chunk, bool landed) {
  if (std::exchange(early_, false)) {
    arriving_calls_->on_following_end(landed);
    return {};
  }
  const wire::RequestView request{frame.header};
  served_.counting().receive();
  served_.counting().taken_for(check_.find(request));
  ArrivingRequest& arriving = need_arriving_request();
  Result<Buffer> attachment = landed ? arriving.take_attachment() : Buffer{};
  WEFT_ASSERT(landed || arriving.refused(request.id()), "a request's attachment is skipped for a reason");
  if (arriving.has_body()) arriving.release_body();
  RequestExtras arrived{deadline_of(request, link_.loop().now())};
  arrived.pass = std::move(arriving_pass_);
  if (arriving.refused(request.id()) || !attachment.ok()) {
    const CallCounting::Taking taking{served_.counting(), frame.header.id};
    if (arriving.refused(request.id())) {
      return served_.refuse_passed(frame.header.id, arriving.take_refusal(), arrived.pass);
    } else {
      answers_.refuse_without_memory(frame.header.id);
    }
    return {};
  }
  arrived.attachment = std::move(*attachment);
  return serve(*check_.find(request), frame, chunk, std::move(arrived));
}

// A handler that waits for room is woken before its call is notified.
bool CallsIn::orphan_some(std::size_t& left) {
  if (arriving_ != nullptr) arriving_->drop();
  arriving_pass_.reset();
  answers_.lose_connection();
  if (arriving_calls_ != nullptr && !arriving_calls_->drop_some(left)) return false;
  return answers_.wake_some(left) && served_.orphan_some(left);
}

void CallsIn::refuse_request(wire::RequestView request, const Refusal& refusal) {
  served_.counting().taken_for(check_.find(request));
  const std::uint64_t id = request.id();
  const CallCounting::Taking taking{served_.counting(), id};
  answers_.refuse_unrun(id, refusal);
}

}  // namespace weft::detail
