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

/// Tells whether a request keeps its chunk for a handler that outlives its receiving: metadata are copied.
bool arguments_stay_in(const ChunkRef& chunk, const Frame& frame) {
  return wire::RequestView{frame.header}.arguments_bytes() > kCopiedBodyBytes &&
         stays_in_chunk(frame.body, chunk);
}

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

Bytes arguments_of(const Frame& request) {
  return request.body.subspan(wire::RequestView{request.header}.padded_metadata_bytes());
}

bool has_good_metadata(const Frame& request) {
  const std::size_t bytes = wire::RequestView{request.header}.metadata_bytes();
  return is_metadata(request.body.first(bytes)) && wire::padding_is_zero(request.body.data(), bytes);
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
           "the call's metadata is not made of whole pairs, each with a key of its own"}};
}

Refusal over_running(const RunningLimit& limit) {
  return {RefusalReason::kOverRunning,
          exhausted("as many calls run as may, of the method (HandlerOptions::running_max) or of the server "
                    "(ServerOptions::calls_running_max)"),
          limit.wait()};
}

/// Assumed size of the frames of a coroutine handler: the wrapper's and its own, with a size that is only
/// known when it runs.
constexpr std::size_t kCoroutineBytes = 1024;

// A call that keeps its body in place keeps the whole chunk, so the chunk is charged. Objects that a handler
// decodes from a body that it does not keep are assumed to be as large as the body.
std::size_t kept_bytes(const MethodEntry& method, const Frame& frame, const ChunkRef& chunk) {
  const bool chunk_is_kept = method.keeps_body && arguments_stay_in(chunk, frame);
  const std::size_t exchange_bytes = method.kind == HandlerKind::kBlocking ? sizeof(ServedExchange) : 0;
  return sizeof(ServedCall) + sizeof(ServedDetails) +
         (method.key.streams ? sizeof(StreamSide) + exchange_bytes : 0) +
         (method.kind == HandlerKind::kCoroutine ? kCoroutineBytes : 0) +
         (method.keeps_body && method.copies_body ? wire::RequestView{frame.header}.arguments_bytes() : 0) +
         (chunk_is_kept ? chunk->capacity() : frame.body.size());
}

/// Refuses a call that has passed its gate, or has none.
Status refuse_passed(AnswerWriter& answers, std::uint64_t id, const Refusal& refusal, const OwnedPass& pass) {
  answers.refuse(id, refusal);
  if (pass != nullptr) pass->refused(refusal.status);
  return {};
}

}  // namespace

CallsIn::CallsIn(SessionLink& link, CallsHost& host)
    : link_(link),
      host_(host),
      admission_(link.limits(), *host.memory),
      arriving_(admission_, *host.memory),
      gate_(link, host.methods),
      table_(host.table_secret),
      check_(host.methods),
      counting_(host.calls, table_, link.loop().turn_time()),
      answers_(link, host, admission_, table_, counting_) {}

void CallsIn::begin_batch(TimePoint held_since) {
  if (!check_.serves()) return;
  waited_ = link_.loop().now() - std::min(link_.connection().empty_at(), held_since);
  held_since_ = held_since;
  if (arriving_.has_body()) [[unlikely]] {
    arriving_.release_body();
  }
}

Status CallsIn::on_held_request(const Frame& frame, TimePoint since) {
  const Duration waited = std::exchange(waited_, saturated_difference(link_.loop().now(), since));
  const TimePoint held_since = std::exchange(held_since_, since);
  Status status = on_request(frame, {});
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
    const bool has_reason = arriving_.refused(request.id());
    if (has_reason || check_.method_for(request) != nullptr) {
      refuse_request(request, has_reason ? arriving_.take_refusal() : over_process_memory());
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
    const auto refusal = gate_.check_caller(check_.named(request), metadata_of(frame));
    refuse_request(request, refusal ? *refusal : check_.refusal(request));
    return {};
  }
  counting_.taken(*method);
  if (request.metadata_bytes() != 0 && !has_good_metadata(frame)) [[unlikely]] {
    const CallCounting::Taking taking{counting_, frame.header.id};
    const auto refusal = gate_.check_caller(method, {});
    answers_.refuse(request.id(), refusal ? *refusal : bad_metadata());
    return {};
  }
  const bool has_attachment = request.attachment_bytes() != 0;
  if (has_attachment && frame.header.following_bytes() == 0) [[unlikely]] {
    return begin_arriving(frame, chunk);
  }
  if (method->straight && !has_attachment) [[likely]] {
    const CallCounting::Taking taking{counting_, frame.header.id};
    InlineCall call{answers_, request.id(), arguments_of(frame), &chunk};
    method->serve_inline(*method, call);
    return {};
  }
  if (method->gate != nullptr) [[unlikely]] {
    return serve_gated(*method, frame, chunk);
  }
  Arrived arrived{deadline_of(request, link_.loop().now())};
  if (has_attachment) {
    if (!RequestCheck::takes_attachment(*method, request)) [[unlikely]] {
      const CallCounting::Taking taking{counting_, frame.header.id};
      return refuse_passed(answers_, request.id(), *check_.attachment_refusal(*method, request),
                           arrived.pass);
    }
    arrived.received = whole_attachment(frame, link_.output().needs_end());
  }
  return serve_record(*method, frame, chunk, std::move(arrived));
}

bool CallsIn::takes_whole(wire::RequestView request) const {
  const MethodEntry* const method = check_.method_for(request);
  return method != nullptr && !method->key.chooses_landing;
}

Status CallsIn::serve_gated(const MethodEntry& method, const Frame& frame, const ChunkRef& chunk) {
  const wire::RequestView request{frame.header};
  const Deadline deadline = deadline_of(request, link_.loop().now());
  OwnedPass pass;
  auto refusal = gate_.check_caller(&method, MetadataView{frame.body.first(request.metadata_bytes())});
  const bool has_attachment = request.attachment_bytes() != 0;
  if (!refusal && has_attachment) refusal = check_.attachment_refusal(method, request);
  if (!refusal) refusal = gate_.admit(method, frame, deadline, pass);
  if (refusal) {
    const CallCounting::Taking taking{counting_, frame.header.id};
    answers_.refuse(request.id(), *refusal);
    return {};
  }
  if (method.kind != HandlerKind::kInline) {
    Arrived arrived{deadline};
    if (has_attachment) arrived.received = whole_attachment(frame, link_.output().needs_end());
    arrived.pass = std::move(pass);
    return serve_record(method, frame, chunk, std::move(arrived));
  }
  const CallCounting::Taking taking{counting_, frame.header.id};
  if (pass == nullptr) {
    InlineCall call{answers_, request.id(), arguments_of(frame), &chunk};
    method.serve_inline(method, call);
    return {};
  }
  InterceptedSink sink{answers_, *pass};
  InlineCall call{sink, request.id(), arguments_of(frame), &chunk};
  method.serve_inline(method, call);
  pass->conclude();
  return {};
}

bool CallsIn::is_in_use(std::uint64_t id) const {
  return table_.find(id) != nullptr || (arriving_calls_ != nullptr && arriving_calls_->find(id) != nullptr);
}

Status CallsIn::serve_record(const MethodEntry& method, const Frame& frame, const ChunkRef& chunk,
                             Arrived&& arrived) {
  // Check this before there is a record: a record outside of the table could not be removed from it.
  if (is_in_use(frame.header.id)) [[unlikely]] {
    counting_.dropped();
    return {StatusCode::kInvalidArgument, Layer::kRpc, "two calls in flight have the same id"};
  }
  if (method.key.streams) [[unlikely]] {
    if (const auto refusal = link_.streams().refusal()) {
      return refuse_passed(answers_, frame.header.id, *refusal, arrived.pass);
    }
  }
  RunningPlace place;
  if (!place.take(method.running, admission_.calls())) [[unlikely]] {
    return refuse_passed(answers_, frame.header.id, over_running(*method.running), arrived.pass);
  }
  if (arrived.pass != nullptr) [[unlikely]] {
    if (auto refusal = arrived.pass->enter(admission_.calls())) {
      return refuse_passed(answers_, frame.header.id, *refusal, arrived.pass);
    }
  }
  const Charge charge{kept_bytes(method, frame, chunk) + arrived.received.size(), arrived.bytes_there()};
  if (const auto refusal = admission_.admit(charge)) [[unlikely]] {
    return refuse_passed(answers_, frame.header.id, *refusal, arrived.pass);
  }
  if (method.ends_at_once && method.gate == nullptr) {
    const CallCounting::Taking taking{counting_, frame.header.id};
    serve_at_once(calls_, answers_, host_, link_.loop(), method,
                  {.id = frame.header.id,
                   .metadata = frame.body.first(wire::RequestView{frame.header}.metadata_bytes()),
                   .body = arguments_of(frame),
                   .deadline = arrived.deadline,
                   .kept = charge.kept - arrived.received.size(),
                   .connection_charge = charge.in_connection(),
                   .answer_bytes_max = link_.limits().body_bytes_max,
                   .received = arrived.received,
                   .landed = arrived.attachment,
                   .place = place});
    return {};
  }
  auto incoming = std::move(arrived.incoming);
  auto pass = std::move(arrived.pass);
  ServedCall* const call = new_record(method, frame, chunk, charge, std::move(place), arrived,
                                      incoming != nullptr || pass != nullptr);
  if (call == nullptr) [[unlikely]] {
    if (pass != nullptr) pass->refused(Status::of<kOutOfMemory>());
    admission_.leave(charge.in_connection());
    answers_.refuse_without_memory(frame.header.id);
    return {};
  }
  table_.insert(*call);
  calls_.add(*call);
  if (incoming != nullptr) [[unlikely]] {
    call->envelope().incoming = std::move(incoming);
  }
  if (pass != nullptr) [[unlikely]] {
    call->envelope().pass = std::move(pass);
  }
  if (call->stream() != nullptr) [[unlikely]] {
    call->stream()->open(link_.streams(), call->id(), true);
  }
  call->start();
  return {};
}

// Makes a record with its body, in the chunk or in a copy (or in the frame if it is not kept), and with room
// for it in the table; freed by its last holder. Metadata is always kept. Null when memory is exhausted,
// after releasing its reservation.
ServedCall* CallsIn::new_record(const MethodEntry& method, const Frame& frame, const ChunkRef& chunk,
                                const Charge& charge, RunningPlace place, Arrived& arrived,
                                bool has_details) {
  const wire::RequestView head{frame.header};
  const std::size_t metadata = head.metadata_bytes();
  ReceivedAttachment received{arrived.received, *host_.memory};
  ServedRequest request{.id = head.id(),
                        .kept{*host_.memory, charge.kept - received.bytes().size()},
                        .deadline = arrived.deadline,
                        .connection_charge = charge.in_connection(),
                        .answer_bytes_max = link_.limits().body_bytes_max,
                        .place = std::move(place)};
  try {
    table_.reserve_one();
    if (method.keeps_body && arguments_stay_in(chunk, frame)) {
      request.kept.hold(chunk, frame.body);
    } else {
      request.kept.copy(frame.body.first(method.keeps_body ? frame.body.size() : metadata));
    }
    const bool may_have_token = method.gate != nullptr && metadata != 0;
    request.metadata_bytes = static_cast<std::uint32_t>(
        may_have_token ? gate_.without_token(request.kept.first(metadata)) : metadata);
    request.body = (method.keeps_body ? request.kept.bytes() : frame.body).subspan(wire::padded(metadata));
    std::unique_ptr<StreamSide> stream;
    if (method.key.streams) stream = std::make_unique<StreamSide>(link_.loop());
    if (!received.empty()) arrived.attachment = received.take();
    ServedCall& call = ServedCall::make(answers_, host_, link_.loop(), method, std::move(request),
                                        std::move(arrived.attachment), has_details);
    call.stream() = std::move(stream);
    return &call;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

// A call whose attachment was still arriving never ran.
void CallsIn::on_cancel(std::uint64_t id) {
  if (ServedCall* call = table_.find(id)) call->cancel_by_peer();
  if (!answers_.break_off(id) && arriving_calls_ != nullptr) arriving_calls_->cancel(id);
}

ArrivingCalls& CallsIn::need_arriving_calls() {
  if (arriving_calls_ == nullptr) {
    ArrivingCallsOwner& owner = *this;
    arriving_calls_ =
        std::make_unique<ArrivingCalls>(owner, link_, admission_, host_.refusals, host_.table_secret);
  }
  return *arriving_calls_;
}

Status CallsIn::begin_arriving(const Frame& frame, const ChunkRef& chunk) {
  const wire::RequestView request{frame.header};
  ArrivingCalls& arriving = need_arriving_calls();
  if (is_in_use(request.id())) {
    counting_.dropped();
    return {StatusCode::kInvalidArgument, Layer::kRpc, "two calls in flight have the same id"};
  }
  std::optional<Refusal> refusal = gate_.check_caller(check_.named(request), metadata_of(frame));
  if (!refusal) refusal = check_.attachment_refusal(request);
  const Deadline deadline = deadline_of(request, link_.loop().now());
  OwnedPass pass;
  if (!refusal) refusal = gate_.refuse_early(*check_.find(request), admission_.calls());
  if (!refusal) refusal = gate_.admit(*check_.find(request), frame, deadline, pass);
  if (!refusal && request.expects_continue() && check_.find(request)->key.chooses_landing) {
    Arrived arrived{deadline};
    arrived.pass = std::move(pass);
    arrived.incoming.reset(new IncomingTransfer(arriving, request.id(), request.attachment_bytes(),
                                                IncomingTransfer::Way::kAsked));
    return serve_record(*check_.find(request), frame, chunk, std::move(arrived));
  }
  // Also for a handler that chooses: its caller sends at once, for it does not know.
  if (!refusal) refusal = arriving.begin(frame, chunk, deadline, pass);
  if (!refusal && request.expects_continue()) arriving.send_continue(request.id());
  return refusal ? refuse_passed(answers_, request.id(), *refusal, pass) : Status{};
}

void CallsIn::on_call_arrived(ArrivingCall& call, Buffer attachment) {
  const MethodEntry& method = *check_.find(call.request());
  counting_.go_on_with(method);
  Arrived arrived{call.deadline()};
  arrived.pass = call.take_pass();
  if (method.key.chooses_landing) {
    arrived.incoming.reset(new IncomingTransfer(*arriving_calls_, call.id(), std::move(attachment)));
  } else {
    arrived.attachment = std::move(attachment);
  }
  Status status = serve_record(method, call.frame(), call.chunk(), std::move(arrived));
  if (!status.ok()) link_.close(std::move(status));
  keep_answer_to_rate(*this, call.id(), call.answer_rate());
}

void CallsIn::on_call_refused(wire::RequestView request, const Refusal& refusal) {
  counting_.go_on_with(*check_.find(request));
  answers_.refuse(request.id(), refusal);
}

void CallsIn::on_call_failed(wire::RequestView request, const Status& failure) {
  counting_.go_on_with(*check_.find(request));
  answers_.fail(request.id(), failure);
}

// A server that checks callers waits for the call's metadata, which comes first in the body, and then
// decides: no more is stored of a refused call.
bool CallsIn::wants_body(wire::RequestView request, Bytes arrived) {
  const MethodEntry* const method = check_.method_for(request);
  if (gate_.looks_at_callers()) [[unlikely]] {
    const std::size_t told = wire::kHeaderBytes + request.metadata_bytes();
    if (arrived.size() < told) return arriving_.charge_body(request.id(), arrived.size());
    if (arriving_.body_charged() < told) {
      const Bytes metadata = arrived.subspan(wire::kHeaderBytes, request.metadata_bytes());
      auto refusal = gate_.check_caller(
          check_.named(request), is_metadata(metadata) ? MetadataView{metadata} : MetadataView{}, true);
      if (!refusal && method == nullptr) refusal = check_.refusal(request);
      if (!refusal && method->gate != nullptr) refusal = gate_.refuse_early(*method, admission_.calls());
      if (refusal) {
        arriving_.refuse(request.id(), *std::move(refusal));
        return false;
      }
    }
    return arriving_.charge_body(request.id(), arrived.size());
  }
  if (method == nullptr) return false;
  if (method->gate != nullptr && !arriving_.has_body()) [[unlikely]] {
    if (auto refusal = gate_.refuse_early(*method, admission_.calls())) {
      arriving_.refuse(request.id(), std::move(*refusal));
      return false;
    }
  }
  return arriving_.charge_body(request.id(), arrived.size());
}

Landing CallsIn::on_request_attachment(const Frame& frame) {
  answers_.count_request();
  const wire::RequestView request{frame.header};
  if (arriving_.refused(request.id())) return Landing::skip();
  std::optional<Refusal> refusal = gate_.check_caller(check_.named(request), metadata_of(frame));
  if (!refusal) refusal = check_.attachment_refusal(request);
  if (!refusal) refusal = admission_.refuse_arriving(request.attachment_bytes());
  if (!refusal && !has_good_metadata(frame)) refusal = bad_metadata();
  if (!refusal) refusal = gate_.refuse_early(*check_.find(request), admission_.calls());
  const Deadline deadline = deadline_of(request, link_.loop().now());
  if (!refusal) refusal = gate_.admit(*check_.find(request), frame, deadline, arriving_pass_);
  if (refusal) {
    arriving_.refuse(request.id(), std::move(*refusal));
    return Landing::skip();
  }
  if (check_.find(request)->key.chooses_landing) return serve_early(*check_.find(request), frame);
  Result<Buffer> buffer = link_.connection().landing_memory(frame.header.attachment_bytes);
  if (!buffer.ok()) {
    arriving_.refuse(request.id(), no_memory_to_land(buffer.status()));
    return Landing::skip();
  }
  return Landing::into(arriving_.begin_attachment(request.id(), std::move(*buffer)));
}

// The arguments are copied, because the connection needs their chunk until the attachment has arrived.
Landing CallsIn::serve_early(const MethodEntry& method, const Frame& frame) {
  const wire::RequestView request{frame.header};
  ArrivingCalls& arriving = need_arriving_calls();
  early_ = true;
  counting_.taken(method);
  if (arriving_.has_body()) arriving_.release_body();
  Arrived arrived{deadline_of(request, link_.loop().now())};
  arrived.pass = std::move(arriving_pass_);
  arrived.incoming.reset(new IncomingTransfer(arriving, request.id(), request.attachment_bytes(),
                                              IncomingTransfer::Way::kFollows));
  Status status = serve_record(method, frame, ChunkRef{}, std::move(arrived));
  if (!status.ok()) {
    link_.close(std::move(status));
    return Landing::skip();
  }
  ServedCall* const call = table_.find(request.id());
  const CallEnvelope* const envelope = call != nullptr ? call->envelope_if_any() : nullptr;
  IncomingTransfer* const transfer = envelope != nullptr ? envelope->incoming.get() : nullptr;
  if (transfer == nullptr || !transfer->lands()) return Landing::skip();
  return arriving.land_following(*transfer);
}

void CallsIn::on_request_attachment_progress(std::uint64_t left) {
  if (arriving_calls_ != nullptr) arriving_calls_->on_progress(left);
  if (!arriving_.charge_attachment(left)) link_.connection().abandon_landing();
}

Status CallsIn::on_request_attachment_end(const Frame& frame, const ChunkRef& chunk, bool landed) {
  if (std::exchange(early_, false)) {
    arriving_calls_->on_following_end(landed);
    return {};
  }
  const wire::RequestView request{frame.header};
  counting_.taken_for(check_.find(request));
  Result<Buffer> attachment = landed ? arriving_.take_attachment() : Buffer{};
  WEFT_ASSERT(landed || arriving_.refused(request.id()), "a request's attachment is skipped for a reason");
  if (arriving_.has_body()) arriving_.release_body();
  Arrived arrived{deadline_of(request, link_.loop().now())};
  arrived.pass = std::move(arriving_pass_);
  if (arriving_.refused(request.id()) || !attachment.ok()) {
    const CallCounting::Taking taking{counting_, frame.header.id};
    if (arriving_.refused(request.id())) {
      return refuse_passed(answers_, frame.header.id, arriving_.take_refusal(), arrived.pass);
    } else {
      answers_.refuse_without_memory(frame.header.id);
    }
    return {};
  }
  arrived.attachment = std::move(*attachment);
  return serve_record(*check_.find(request), frame, chunk, std::move(arrived));
}

// A handler that waits for room is woken before its call is notified.
bool CallsIn::orphan_some(std::size_t& left) {
  arriving_.drop();
  arriving_pass_.reset();
  answers_.lose_connection();
  if (arriving_calls_ != nullptr && !arriving_calls_->drop_some(left)) return false;
  return answers_.wake_some(left) && calls_.orphan_some(left);
}

void CallsIn::refuse_request(wire::RequestView request, const Refusal& refusal) {
  counting_.taken_for(check_.find(request));
  const std::uint64_t id = request.id();
  const CallCounting::Taking taking{counting_, id};
  answers_.refuse(id, refusal);
}

}  // namespace weft::detail
