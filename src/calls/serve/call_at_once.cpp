// SPDX-License-Identifier: Apache-2.0
#include "calls/serve/call_at_once.hpp"

#include <new>
#include <utility>

#include "calls/serve/calls_host.hpp"
#include "calls/terms/call_status.hpp"
#include "weft/detail/calls/terms/method_entry.hpp"

namespace weft::detail {

namespace {

/// Base of the record, so that its details outlive it.
struct DetailsAtOnce {
  explicit DetailsAtOnce(ServedCall& call) noexcept : details_here(call) {}
  ServedDetails details_here;
};

class RecordAtOnce final : private DetailsAtOnce, public ServedCall {
 public:
  RecordAtOnce(AnswerSink& sink, CallsHost& host, Loop& loop, const MethodEntry& method,
               ServedRequest&& request)
      : DetailsAtOnce(static_cast<ServedCall&>(*this)),
        ServedCall(sink, host, loop, method, std::move(request), &details_here) {}
};

}  // namespace

// A timer could not end it: nothing else of the loop runs before its end.
void serve_at_once(ServedList& calls, AnswerSink& sink, CallsHost& host, Loop& loop,
                   const MethodEntry& method, const RequestAtOnce& request) {
  {
    RecordAtOnce call{sink,
                      host,
                      loop,
                      method,
                      {.id = request.id,
                       .kept{*host.memory, request.kept},
                       .body = request.body,
                       .connection_charge = request.connection_charge,
                       .answer_bytes_max = request.answer_bytes_max,
                       .place = std::move(request.place),
                       .received = request.received_at}};
    calls.add(call);
    call.scope().set_deadline(request.deadline);
    call.scope().set_carried(request.metadata);
    if (!request.received.empty()) call.envelope().received = {request.received, *host.memory};
    if (!request.landed.empty()) call.envelope().attachment = std::move(request.landed);
    try {
      method.serve_record(method, call);
    } catch (const std::bad_alloc&) {
      if (!call.answered()) call.fail(Status::of<kOutOfMemory>());
    }
  }
  --host.calls.of(method).running;
  --host.running;
  if (host.running.get() == 0 && host.on_idle) host.on_idle();
}

}  // namespace weft::detail
