// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/untyped/handler.hpp"

#include <algorithm>
#include <string>

#include "weft/detail/calls/serve/served_call.hpp"

namespace weft::detail {

namespace {

UntypedHandler& handler_of(const MethodEntry& method) {
  return *static_cast<UntypedHandler*>(method.object);
}

void answer_with_message(ServedCall& call, Bytes message) {
  std::byte* const body = call.begin_answer(message.size());
  if (body == nullptr) return;
  std::ranges::copy(message, body);
  call.end_answer();
}

Task<void> serve(const MethodEntry* method, ServedCall* call) {
  Status failure;
  try {
    const Result<Buffer> answer = co_await handler_of(*method).serve(call->context(), call->body());
    if (!answer.ok()) {
      failure = answer.status();
    } else if (!call->has_room()) {
      failure = call->keep_answer(answer->size());
      if (failure.ok()) co_await room_for(*call);
    }
    if (failure.ok()) answer_with_message(*call, answer->bytes());
  } catch (...) {
    failure = status_of_exception(*method);
  }
  if (failure.ok()) co_return;
  if (!call->has_room()) {
    failure = keep_failure(*call, std::move(failure));
    co_await room_for(*call);
  }
  call->fail(failure);
}

}  // namespace

MethodEntry untyped_entry(UntypedHandler& handler, const HandlerOptions& options) {
  MethodEntry entry{handler.method().key(), options};
  entry.kind = HandlerKind::kCoroutine;
  entry.on_loop_only = true;
  entry.keyed = true;
  entry.takes_attachment = true;
  entry.object = &handler;
  entry.serve_coroutine = &serve;
  if (!handler.method().types().empty()) {
    entry.described_text = [](const MethodEntry& self) { return handler_of(self).method().types(); };
  }
  return entry;
}

Status no_untyped_streams(const UntypedMethod& method) {
  return {StatusCode::kInvalidArgument, Layer::kUser,
          "the method '" + method.name() + "' streams, and register_untyped() takes no streams"};
}

}  // namespace weft::detail
