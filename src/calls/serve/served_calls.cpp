// SPDX-License-Identifier: Apache-2.0
#include "calls/serve/served_calls.hpp"

#include <new>
#include <string>
#include <utility>

#include "calls/gate/intercepted_sink.hpp"
#include "calls/gate/request_check.hpp"
#include "calls/serve/call_at_once.hpp"
#include "calls/serve/timed_sink.hpp"
#include "calls/stream/item_sink.hpp"
#include "calls/terms/call_status.hpp"
#include "weft/detail/base/assert.hpp"
#include "weft/detail/calls/serve/inline_call.hpp"
#include "weft/detail/calls/serve/served_exchange.hpp"
#include "weft/detail/calls/terms/chunk_keeping.hpp"
#include "weft/detail/calls/terms/method_entry.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft::detail {

namespace {

/// Assumed size of the frames of a coroutine handler: the wrapper's and its own, with a size that is only
/// known when it runs.
constexpr std::size_t kCoroutineBytes = 1024;

constexpr FixedFailure kNoStreams{
    StatusCode::kUnimplemented, Layer::kRpc, Retry::kNever,
    "the method is a stream, which this protocol does not carry: call it with a "
    "client of Weft"};

/// Tells whether a request keeps its chunk for a handler that outlives its receiving: metadata are copied.
bool arguments_stay_in(const ChunkRef& chunk, const ReceivedRequest& request) {
  return request.arguments().size() > kCopiedBodyBytes && stays_in_chunk(request.bytes, chunk);
}

Refusal over_running(const RunningLimit& limit) {
  return {RefusalReason::kOverRunning,
          exhausted("as many calls run as may, of the method (HandlerOptions::running_max) or of the server "
                    "(ServerOptions::calls_running_max)"),
          limit.wait()};
}

std::uint64_t attached(const RequestExtras& extras) {
  if (extras.incoming != nullptr) return extras.incoming->bytes();
  return extras.attachment.size() + extras.received.size();
}

// A call that keeps its body in place keeps the whole chunk, so the chunk is charged. Objects that a handler
// decodes from a body that it does not keep are assumed to be as large as the body.
std::size_t kept_bytes(const MethodEntry& method, const ReceivedRequest& request, const ChunkRef& chunk) {
  const bool chunk_is_kept = method.keeps_body && arguments_stay_in(chunk, request);
  const std::size_t exchange_bytes = method.kind == HandlerKind::kBlocking ? sizeof(ServedExchange) : 0;
  return sizeof(ServedCall) + sizeof(ServedDetails) +
         (method.key.streams ? sizeof(StreamSide) + exchange_bytes : 0) +
         (method.kind == HandlerKind::kCoroutine ? kCoroutineBytes : 0) +
         (method.keeps_body && method.copies_body ? request.arguments().size() : 0) +
         (chunk_is_kept ? chunk->capacity() : request.bytes.size());
}

}  // namespace

ServedCalls::ServedCalls(AnswerSink& sink, CallsHost& host, Loop& loop, const RpcLimits& limits)
    : host_(host),
      limits_(limits),
      admission_(limits, *host.memory),
      gate_(sink, loop, host.methods),
      table_(host.table_secret),
      counting_(host.calls, table_, sink, loop.turn_time(), host.times.get()) {}

bool ServedCalls::begin_whole(std::uint64_t id, const MethodEntry* method, MetadataView metadata) {
  counting_.receive();
  counting_.taken_for(method);
  const CallCounting::Taking taking{counting_, id};
  auto refusal = gate_.check_caller(method, metadata);
  if (!refusal && method == nullptr) refusal = RequestCheck{host_.methods}.no_such_method();
  if (!refusal) return true;
  gate_.connection().refuse_unrun(id, *refusal);
  return false;
}

void ServedCalls::refuse(std::uint64_t id, const Refusal& refusal) {
  const CallCounting::Taking taking{counting_, id};
  gate_.connection().refuse_unrun(id, refusal);
}

void ServedCalls::serve_whole(const MethodEntry& method, const ReceivedRequest& request, Deadline deadline) {
  counting_.receive();
  counting_.go_on_with(method);
  const std::size_t limit = method.options.body_bytes_max;
  if (limit != 0 && request.arguments().size() > limit) {
    return refuse(request.id, RequestCheck::over_methods_body(method, request.arguments().size()));
  }
  RequestExtras extras{.deadline = deadline};
  Status breach;
  if (method.gate != nullptr || method.kind == HandlerKind::kInline) {
    breach = serve_gated(method, request, {}, std::move(extras), 0);
  } else {
    breach = serve(method, request, {}, std::move(extras));
  }
  WEFT_ASSERT(breach.ok(), "only a call with the id of another one is a breach");
}

Status ServedCalls::serve_gated(const MethodEntry& method, const ReceivedRequest& request,
                                const ChunkRef& chunk, RequestExtras&& extras,
                                std::uint64_t attachment_bytes) {
  if (const auto refusal = gate_.admit(method, request, attachment_bytes, extras.deadline, extras.pass)) {
    refuse(request.id, *refusal);
    return {};
  }
  if (method.kind != HandlerKind::kInline) return serve(method, request, chunk, std::move(extras));
  serve_function(method, request, chunk, extras.pass.get());
  return {};
}

void ServedCalls::serve_function(const MethodEntry& method, const ReceivedRequest& request,
                                 const ChunkRef& chunk, GatePass* pass) {
  if (pass == nullptr) return serve_function(method, request, chunk, gate_.connection());
  InterceptedSink intercepted{gate_.connection(), *pass};
  serve_function(method, request, chunk, intercepted);
  pass->conclude();
}

void ServedCalls::serve_function(const MethodEntry& method, const ReceivedRequest& request,
                                 const ChunkRef& chunk, AnswerSink& sink) {
  const CallCounting::Taking taking{counting_, request.id};
  if (host_.times == nullptr) {
    InlineCall call{sink, request.id, request.arguments(), &chunk};
    return method.serve_inline(method, call);
  }
  TimedSink timed{sink};
  InlineCall call{timed, request.id, request.arguments(), &chunk};
  method.serve_inline(method, call);
  counting_.function_ended(method, request.bytes.size(), timed.bytes());
}

Status ServedCalls::refuse_passed(std::uint64_t id, const Refusal& refusal, const OwnedPass& pass) {
  gate_.connection().refuse_unrun(id, refusal);
  if (pass != nullptr) pass->refused(refusal.status);
  return {};
}

Status ServedCalls::serve(const MethodEntry& method, const ReceivedRequest& request, const ChunkRef& chunk,
                          RequestExtras&& extras) {
  // Check this before there is a record: a record outside of the table could not be removed from it.
  if (table_.find(request.id) != nullptr) [[unlikely]] {
    counting_.dropped();
    return id_in_use();
  }
  ItemSink* const streams = method.key.streams ? gate_.connection().streams() : nullptr;
  if (method.key.streams) [[unlikely]] {
    const auto refusal = streams != nullptr ? streams->refusal()
                                            : Refusal{RefusalReason::kWrongSchema, Status::of<kNoStreams>()};
    if (refusal) return refuse_passed(request.id, *refusal, extras.pass);
  }
  RunningPlace place;
  if (!place.take(method.running, admission_.calls())) [[unlikely]] {
    return refuse_passed(request.id, over_running(*method.running), extras.pass);
  }
  if (extras.pass != nullptr) [[unlikely]] {
    if (auto refusal = extras.pass->enter(admission_.calls())) {
      return refuse_passed(request.id, *refusal, extras.pass);
    }
  }
  const Charge charge{kept_bytes(method, request, chunk) + extras.received.size(), extras.attachment_there()};
  if (const auto refusal = admission_.admit(charge)) [[unlikely]] {
    return refuse_passed(request.id, *refusal, extras.pass);
  }
  if (host_.times != nullptr)
    host_.times->received(host_.calls.of(method), request.bytes.size() + attached(extras));
  if (method.ends_at_once && method.gate == nullptr) {
    const CallCounting::Taking taking{counting_, request.id};
    serve_at_once(list_, gate_.connection(), host_, gate_.loop(), method,
                  {.id = request.id,
                   .metadata = request.bytes.first(request.metadata_bytes),
                   .body = request.arguments(),
                   .deadline = extras.deadline,
                   .kept = charge.kept - extras.received.size(),
                   .connection_charge = charge.in_connection(),
                   .answer_bytes_max = limits_.body_bytes_max,
                   .received_at = counting_.received(),
                   .received = extras.received,
                   .landed = extras.attachment,
                   .place = place});
    return {};
  }
  auto incoming = std::move(extras.incoming);
  auto pass = std::move(extras.pass);
  ServedCall* const call = new_record(method, request, chunk, charge, std::move(place), extras,
                                      incoming != nullptr || pass != nullptr);
  if (call == nullptr) [[unlikely]] {
    if (pass != nullptr) pass->refused(Status::of<kOutOfMemory>());
    admission_.leave(charge.in_connection());
    gate_.connection().refuse_without_memory(request.id);
    return {};
  }
  table_.insert(*call);
  list_.add(*call);
  if (incoming != nullptr) [[unlikely]] {
    call->envelope().incoming = std::move(incoming);
  }
  if (pass != nullptr) [[unlikely]] {
    call->envelope().pass = std::move(pass);
  }
  if (call->stream() != nullptr) [[unlikely]] {
    call->stream()->open(*streams, call->id(), true);
  }
  call->start();
  return {};
}

// Makes a record with its body, in the chunk or in a copy (or in place if it is not kept), and with room for
// it in the table; freed by its last holder. Metadata is always kept. Null when memory is exhausted, after
// releasing its reservation.
ServedCall* ServedCalls::new_record(const MethodEntry& method, const ReceivedRequest& received,
                                    const ChunkRef& chunk, const Charge& charge, RunningPlace place,
                                    RequestExtras& extras, bool has_details) {
  const std::size_t metadata = received.metadata_bytes;
  ReceivedAttachment in_place{extras.received, *host_.memory};
  ServedRequest request{.id = received.id,
                        .kept{*host_.memory, charge.kept - in_place.bytes().size()},
                        .deadline = extras.deadline,
                        .connection_charge = charge.in_connection(),
                        .answer_bytes_max = limits_.body_bytes_max,
                        .place = std::move(place),
                        .received = counting_.received()};
  try {
    table_.reserve_one();
    if (method.keeps_body && arguments_stay_in(chunk, received)) {
      request.kept.hold(chunk, received.bytes);
    } else {
      request.kept.copy(received.bytes.first(method.keeps_body ? received.bytes.size() : metadata));
    }
    const bool may_have_token = method.gate != nullptr && metadata != 0;
    request.metadata_bytes = static_cast<std::uint32_t>(
        may_have_token ? gate_.without_token(request.kept.first(metadata)) : metadata);
    request.body =
        (method.keeps_body ? request.kept.bytes() : received.bytes).subspan(wire::padded(metadata));
    std::unique_ptr<StreamSide> stream;
    if (method.key.streams) stream = std::make_unique<StreamSide>(gate_.loop());
    if (!in_place.empty()) extras.attachment = in_place.take();
    ServedCall& call = ServedCall::make(gate_.connection(), host_, gate_.loop(), method, std::move(request),
                                        std::move(extras.attachment), has_details);
    call.stream() = std::move(stream);
    return &call;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

}  // namespace weft::detail
