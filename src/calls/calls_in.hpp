// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "calls/admission.hpp"
#include "calls/arriving_request.hpp"
#include "calls/call_counting.hpp"
#include "calls/calls_host.hpp"
#include "calls/request_check.hpp"
#include "calls/served_list.hpp"
#include "calls/served_table.hpp"
#include "weft/base/status.hpp"
#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/calls/answer_sink.hpp"
#include "weft/detail/calls/served_call.hpp"
#include "weft/detail/transport/connection.hpp"
#include "weft/detail/wire/heads.hpp"

namespace weft::detail {

struct MethodEntry;
class Session;

/// The peer's calls on one connection: from a request's frame to the handler, and from the handler to the
/// answer.
class CallsIn final : public AnswerSink {
 public:
  CallsIn(Session& session, CallsHost& host);

  /// False when such a request is refused, whatever its body says, or when there is no room for the
  /// `arrived` bytes of its body: the rest is skipped then.
  bool wants_body(wire::RequestView request, std::size_t arrived);
  /// Prepares for taking frames: finds how long they may have waited.
  void begin_batch();
  /// A failure is the peer's breach of the protocol and ends the connection.
  Status on_request(const Frame& frame, const ChunkRef& chunk);
  /// In place of on_request(): takes a request that is not served.
  [[gnu::cold, gnu::noinline]] void refuse_request(wire::RequestView request, const Refusal& refusal);
  void on_cancel(std::uint64_t id);
  Landing on_request_attachment(const Frame& frame);
  /// `left` bytes of the attachment are to come.
  void on_request_attachment_progress(std::uint64_t left);
  Status on_request_attachment_end(const Frame& frame, const ChunkRef& chunk, bool landed);
  /// Some of them have not been answered, but were not given up either.
  bool owes_answers() { return calls_.has_unanswered(); }
  /// The connection is gone.
  void orphan_all();
  void wake_room_waiter() override;

 private:
  std::byte* begin_answer(std::uint64_t id, std::size_t body_bytes, std::uint64_t attachment_bytes) override;
  void end_answer() override;
  void take_back_answer(const std::byte* body) override;
  void end_answer_with(Buffer attachment, UniqueFunction<void(bool)> on_sent) override;
  [[gnu::cold, gnu::noinline]] void fail(std::uint64_t id, const Status& failure) override;
  void refuse(std::uint64_t id, RefusalReason reason, const Status& why) override;
  void refuse_without_memory(std::uint64_t id) override;
  bool has_room() const noexcept override;
  void add_room_waiter(RoomWaiter& waiter) override { room_waiters_.push_back(waiter); }
  bool charge_answer(std::size_t bytes) override { return admission_.admit_answer(bytes); }
  void forget(ServedCall& call) override;
  std::string local_endpoint() const override;
  std::string remote_endpoint() const override;
  std::shared_ptr<void>& connection_tag() override;
  void finish() override;

  Status serve_record(const MethodEntry& method, const Frame& frame, const ChunkRef& chunk,
                      Buffer attachment);
  ServedCall* new_record(const MethodEntry& method, const Frame& frame, const ChunkRef& chunk,
                         const Charge& charge, RunningPlace place, Buffer attachment);
  void send_failure(std::uint64_t id, wire::AnswerHead failure, std::string_view text);

  Session& session_;
  CallsHost& host_;
  Admission admission_;
  ArrivingRequest arriving_;
  ServedTable table_;
  ServedList calls_;
  IntrusiveList<RoomWaiter, RoomWaiterTag> room_waiters_;
  const RequestCheck check_;
  CallCounting counting_;
  /// How long the requests of this batch may have waited.
  Duration waited_{};
};

}  // namespace weft::detail
