// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "calls/gate/gate_pass.hpp"
#include "weft/detail/calls/terms/answer_sink.hpp"

namespace weft::detail {

/// The answer could not be begun or ended: it is too large for the caller, there is no memory for it, or the
/// protocol cannot carry it.
inline constexpr FixedFailure kAnswerNotSent{
    StatusCode::kResourceExhausted, Layer::kRpc, Retry::kNever,
    "the handler's answer could not be sent: the caller was told why in its place"};

/// Stands before the sink of an ordinary function's call that passed interceptors, and notes its outcome for
/// them. Lasts while the handler runs.
class InterceptedSink final : public AnswerSink {
 public:
  /// Both outlive it.
  InterceptedSink(AnswerSink& sink, GatePass& pass)
      : AnswerSink(sink.connection_id()), sink_(sink), pass_(pass) {}

  std::byte* begin_answer(std::uint64_t id, std::size_t bytes, std::uint64_t attachment_bytes) override;
  ChunkPool* lending_chunks() const noexcept override { return sink_.lending_chunks(); }
  std::byte* begin_answer_around(std::uint64_t id, std::size_t bytes, std::uint64_t attachment_bytes,
                                 const RunsInChunk& lent) override;
  void put_runs_in(const RunsInChunk& lent, bool attachment_follows) override {
    sink_.put_runs_in(lent, attachment_follows);
  }
  void end_answer() override {
    sink_.end_answer();
    note_end();
  }
  void take_back_answer(const std::byte* body) override { sink_.take_back_answer(body); }
  void end_answer_with(std::uint64_t id, Attachment& attachment,
                       std::unique_ptr<AnswerWishes> wishes) override {
    sink_.end_answer_with(id, attachment, std::move(wishes));
    note_end();
  }
  void fail(std::uint64_t id, const Status& failure) override;
  void refuse(std::uint64_t id, RefusalReason reason, const Status& why) override;
  void refuse_without_memory(std::uint64_t id) override;

  bool has_room() const noexcept override { return sink_.has_room(); }
  void add_room_waiter(RoomWaiter& waiter) override { sink_.add_room_waiter(waiter); }
  bool charge_answer(std::size_t bytes) override { return sink_.charge_answer(bytes); }
  bool reserve_copy(std::uint64_t bytes) override { return sink_.reserve_copy(bytes); }
  void wake_room_waiter() override { sink_.wake_room_waiter(); }
  void forget(ServedCall& call) override { sink_.forget(call); }
  std::string local_endpoint() const override { return sink_.local_endpoint(); }
  std::string remote_endpoint() const override { return sink_.remote_endpoint(); }
  std::shared_ptr<void>& connection_tag() override { return sink_.connection_tag(); }
  std::shared_ptr<PeerTarget> peer() override { return sink_.peer(); }
  void finish() override { sink_.finish(); }

 private:
  std::byte* begun(std::byte* body, std::size_t bytes);
  void note_end() {
    if (sink_.has_failed_end()) [[unlikely]] {
      pass_.will_fail(Status::of<kAnswerNotSent>());
    }
  }

  AnswerSink& sink_;
  GatePass& pass_;
};

}  // namespace weft::detail
