// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "weft/detail/calls/terms/answer_sink.hpp"

namespace weft::detail {

/// Passes on everything to another sink; a base for sinks that note something on the way.
class ForwardingSink : public AnswerSink {
 public:
  std::byte* begin_answer(std::uint64_t id, std::size_t bytes, std::uint64_t attachment_bytes) override {
    return sink_.begin_answer(id, bytes, attachment_bytes);
  }
  ChunkPool* lending_chunks() const noexcept override { return sink_.lending_chunks(); }
  std::byte* begin_answer_around(std::uint64_t id, std::size_t bytes, std::uint64_t attachment_bytes,
                                 const RunsInChunk& lent) override {
    return sink_.begin_answer_around(id, bytes, attachment_bytes, lent);
  }
  void put_runs_in(const RunsInChunk& lent, bool attachment_follows) override {
    sink_.put_runs_in(lent, attachment_follows);
  }
  void end_answer() override { sink_.end_answer(); }
  void take_back_answer(const std::byte* body) override { sink_.take_back_answer(body); }
  void end_answer_with(std::uint64_t id, Attachment& attachment,
                       std::unique_ptr<AnswerWishes> wishes) override {
    sink_.end_answer_with(id, attachment, std::move(wishes));
  }
  void fail(std::uint64_t id, const Status& failure) override { sink_.fail(id, failure); }
  void refuse(std::uint64_t id, RefusalReason reason, const Status& why) override {
    sink_.refuse(id, reason, why);
  }
  void refuse_without_memory(std::uint64_t id) override { sink_.refuse_without_memory(id); }

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

 protected:
  /// `sink` outlives it.
  explicit ForwardingSink(AnswerSink& sink) : AnswerSink(sink.connection_id()), sink_(sink) {}
  ~ForwardingSink() = default;
  const AnswerSink& sink() const { return sink_; }

 private:
  AnswerSink& sink_;
};

}  // namespace weft::detail
