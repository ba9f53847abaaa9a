// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "calls/gate/request_check.hpp"
#include "calls/landing/arriving_calls.hpp"
#include "calls/landing/arriving_request.hpp"
#include "calls/serve/answer_writer.hpp"
#include "calls/serve/calls_host.hpp"
#include "calls/serve/served_calls.hpp"
#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/calls/serve/served_call.hpp"
#include "weft/detail/calls/terms/answer_sink.hpp"
#include "weft/detail/transport/connection.hpp"
#include "weft/detail/wire/heads.hpp"

namespace weft::detail {

struct MethodEntry;
class SessionLink;

/// The peer's calls on one connection: from a request's frame to the handler, and from the handler to the
/// answer.
class CallsIn final : private ArrivingCallsOwner {
 public:
  CallsIn(SessionLink& link, CallsHost& host);

  /// Returns false when the request will be refused regardless of the rest of its body, or when there is no
  /// room for `arrived`, the bytes from its header on: the rest is skipped then.
  bool wants_body(wire::RequestView request, Bytes arrived);
  /// Returns true when the request is served after its short attachment has arrived. Otherwise a handler
  /// chooses the memory for the attachment, or it is skipped.
  bool takes_whole(wire::RequestView request) const;
  /// Prepares for taking frames: finds how long they may have waited. Frames that this side has kept were
  /// received at `held_since`.
  void begin_batch(TimePoint held_since = TimePoint::max());
  /// Calls on_request() for a request that this side has kept since `since`.
  Status on_held_request(const Frame& frame, TimePoint since);
  /// A failure is the peer's breach of the protocol and ends the connection.
  Status on_request(const Frame& frame, const ChunkRef& chunk);
  /// Replaces on_request(): takes a request that is not served.
  [[gnu::cold, gnu::noinline]] void refuse_request(wire::RequestView request, const Refusal& refusal);
  void on_cancel(std::uint64_t id);
  Landing on_request_attachment(const Frame& frame);
  /// `left` bytes of the attachment have not arrived yet.
  void on_request_attachment_progress(std::uint64_t left);
  Status on_request_attachment_end(const Frame& frame, const ChunkRef& chunk, bool landed);
  /// A request that is not whole was given to its handler.
  bool has_begun_early() const { return early_; }
  /// Returns the calls with attachments that are arriving in pieces; null before the first.
  ArrivingCalls* arriving_calls() { return arriving_calls_.get(); }
  /// Returns the calls with a record.
  ServedList& calls() { return served_.list(); }
  /// Returns the call `id` if it has a record; otherwise null.
  ServedCall* find(std::uint64_t id) const { return served_.find(id); }
  AnswerWriter& answers() { return answers_; }
  /// The connection is gone: nothing arrives, and answers are dropped. Notifies up to `left` of the calls,
  /// and decrements `left` for each. Returns false when some remain.
  bool orphan_some(std::size_t& left);

 private:
  void on_call_arrived(ArrivingCall& call, Buffer attachment) override;
  void on_call_refused(wire::RequestView request, const Refusal& refusal) override;
  void on_call_failed(wire::RequestView request, const Status& failure) override;

  /// Each makes its object for the first use. Throws std::bad_alloc, which closes the connection.
  ArrivingRequest& need_arriving_request();
  ArrivingCalls& need_arriving_calls();
  /// Serves a call that has to pass its method's gate.
  [[gnu::cold]] Status serve_gated(const MethodEntry& method, const Frame& frame, const ChunkRef& chunk);
  /// Takes a request with an attachment that arrives in pieces.
  [[gnu::cold]] Status begin_arriving(const Frame& frame, const ChunkRef& chunk);
  /// Serves a request before its attachment, which follows it, and which its handler chooses the place of.
  [[gnu::cold]] Landing serve_early(const MethodEntry& method, const Frame& frame);
  [[gnu::cold, gnu::noinline]] bool is_too_late(wire::RequestView request);
  /// Serves a request with a record that has passed its method's gate, or needs not.
  Status serve(const MethodEntry& method, const Frame& frame, const ChunkRef& chunk, RequestExtras&& extras);
  /// Returns true if a call with this id waits for its attachment.
  bool is_arriving(std::uint64_t id) const;

  SessionLink& link_;
  CallsHost& host_;
  AnswerWriter answers_;
  ServedCalls served_;
  /// Made for the first large body or attachment: most connections have none.
  std::unique_ptr<ArrivingRequest> arriving_;
  /// Made for the first of them, as well.
  std::unique_ptr<ArrivingCalls> arriving_calls_;
  /// The request whose attachment is being received was given to its handler already.
  bool early_ = false;
  /// Pass of the request with the attachment being received; null when it passed nothing.
  OwnedPass arriving_pass_;
  const RequestCheck check_;
  /// Time for which the requests of this batch may have waited, and the time at which they were received.
  Duration waited_{};
  TimePoint held_since_ = TimePoint::max();
};

}  // namespace weft::detail
