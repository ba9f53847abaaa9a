// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "calls/call/calls_out.hpp"
#include "weft/detail/calls/call/call_target.hpp"
#include "weft/detail/runtime/loop.hpp"

/// The path of a small request that succeeds, through all classes on it: defined in a header so that callers
/// can inline all of it into one function. Rare cases are out of line, in the source files of these classes.
namespace weft::detail {

/// Ends `call`, for which there is no memory.
[[gnu::cold]] Begun refuse_for_memory(PendingCall& call);

inline wire::RequestHead request_head(const MethodKey& method, std::size_t body_bytes) {
  wire::RequestHead head;
  head.body_bytes = static_cast<std::uint32_t>(body_bytes);
  head.method = method.id;
  head.schema = method.schema;
  return head;
}

[[gnu::always_inline]] inline Begun CallTarget::begin(PendingCall& call, std::size_t body_bytes) {
  if (open_ == nullptr || !open_->has_room()) [[unlikely]] {
    return begin_without_session(call, body_bytes);
  }
  if (call.request().details != nullptr && asks_about_options_) [[unlikely]] {
    return begin_without_session(call, body_bytes);
  }
  return open_->begin(call, body_bytes);
}

[[gnu::always_inline]] inline Begun CallsOut::begin(PendingCall& call, std::size_t body_bytes) {
  if (body_bytes >= LentRuns::kRunBytesMin) [[unlikely]] {
    return begin_large(call, body_bytes);
  }
  if (body_bytes > small_body_bytes_ || !call.request().is_plain()) {
    return begin_with_options(call, body_bytes, nullptr);
  }
  wire::RequestHead head = request_head(*call.request().method, body_bytes);
  head.timeout = call.request().default_timeout;
  return queue(call, head, link_.output().needs_end());
}

// The head never has an address here, so it goes from registers into the outbox.
[[gnu::always_inline]] inline Begun CallsOut::queue(PendingCall& call, wire::RequestHead head,
                                                    bool needs_sent, const LentRuns* runs) {
  if (!table_.has_slot()) [[unlikely]] {
    return refuse_for_memory(call);
  }
  head.id = table_.enter(call, link_.connection().outbox().position());
  std::byte* body = runs == nullptr ? link_.output().begin(head.header())
                                    : link_.output().begin_around(head.header(), *runs);
  if (body == nullptr) [[unlikely]] {
    table_.take_back(head.id);
    return refuse_for_memory(call);
  }
  call.enter(*this, head.id);
  return {body, needs_sent ? Begun::Outcome::kWriteThenSent : Begun::Outcome::kWrite};
}

}  // namespace weft::detail
