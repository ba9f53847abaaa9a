// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "calls/sending/answer_transfer.hpp"
#include "calls/serve/calls_host.hpp"
#include "calls/serve/served_calls.hpp"
#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/calls/serve/served_call.hpp"
#include "weft/detail/calls/terms/answer_sink.hpp"
#include "weft/detail/wire/heads.hpp"

namespace weft::detail {

class SessionLink;

/// Writes the answers to the peer's calls on one connection: frames, attachments, and failures. Thread: the
/// connection's loop.
class AnswerWriter final : public AnswerSink {
 public:
  /// All outlive it; `served` may be made after it.
  AnswerWriter(SessionLink& link, CallsHost& host, ServedCalls& served);

  [[gnu::cold, gnu::noinline]] void fail(std::uint64_t id, const Status& failure) override;
  void refuse(std::uint64_t id, RefusalReason reason, const Status& why) override;
  void refuse_unrun(std::uint64_t id, const Refusal& refusal) override;
  void refuse_without_memory(std::uint64_t id) override;
  /// The caller cancelled a call that was answered: drops the unsent rest of the attachment, and notifies the
  /// caller that no more follows. Returns false when nothing of it remains to be sent.
  bool break_off(std::uint64_t id);
  /// The peer reads the details of failures.
  void allow_details() { sends_details_ = true; }
  /// The peer reads the metadata of answers.
  void allow_metadata() { sends_metadata_ = true; }
  void count_request() { ++requests_; }
  /// Returns how many requests the peer has sent, modulo 2^32.
  std::uint32_t requests() const { return requests_; }
  void wake_room_waiter() override;
  /// The connection is gone: answers are dropped from now on, and always have room.
  void lose_connection() { set_gone(); }
  /// Wakes up to `left` of the waiters for room after the connection was lost, and decrements `left` for
  /// each. Returns false when some remain.
  bool wake_some(std::size_t& left);

 private:
  std::byte* begin_answer(std::uint64_t id, std::size_t body_bytes, std::uint64_t attachment_bytes) override;
  ChunkPool* lending_chunks() const noexcept override;
  std::byte* begin_answer_around(std::uint64_t id, std::size_t body_bytes, std::uint64_t attachment_bytes,
                                 const RunsInChunk& lent) override;
  void put_runs_in(const RunsInChunk& lent, bool attachment_follows) override;
  void end_answer() override;
  void take_back_answer(const std::byte* body) override;
  bool reserve_copy(std::uint64_t bytes) override;
  void end_answer_with(std::uint64_t id, Attachment& attachment,
                       std::unique_ptr<AnswerWishes> wishes) override;
  Status send_metadata(std::uint64_t id, bool initial, Bytes pairs) override;
  void slow_down(std::uint64_t id, std::uint64_t rate) override;
  bool has_room() const noexcept override;
  void add_room_waiter(RoomWaiter& waiter) override { room_waiters_.push_back(waiter); }
  bool charge_answer(std::size_t bytes) override { return served_.admission().admit_answer(bytes); }
  void forget(ServedCall& call) override;
  std::string local_endpoint() const override;
  std::string remote_endpoint() const override;
  std::shared_ptr<void>& connection_tag() override;
  std::shared_ptr<PeerTarget> peer() override;
  ItemSink* streams() override;
  void finish() override;

  /// Fills `head` for an answer with `written` bytes to be written and `kept` bytes that are stored
  /// elsewhere. Returns false when the answer was replaced by a failure.
  [[gnu::always_inline]] bool admit(std::uint64_t id, std::size_t body_bytes, std::uint64_t attachment_bytes,
                                    std::size_t written, std::size_t kept, wire::AnswerHead& head);
  bool queue_transfer(std::uint64_t id, Attachment& attachment, std::unique_ptr<AnswerWishes>& wishes);
  void send_failure(std::uint64_t id, wire::AnswerHead failure, std::string_view text,
                    std::string_view details = {});

  bool sends_details_ = false;
  bool sends_metadata_ = false;
  std::uint32_t requests_ = 0;
  SessionLink& link_;
  CallsHost& host_;
  ServedCalls& served_;
  IntrusiveList<RoomWaiter, RoomWaiterTag> room_waiters_;
  /// Attachments that are leaving in pieces; made for the first.
  std::unique_ptr<IdTable<AnswerTransfer>> leaving_;
};

}  // namespace weft::detail
