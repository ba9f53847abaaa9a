// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calls/gate/forwarding_sink.hpp"
#include "calls/gate/gate_pass.hpp"

namespace weft::detail {

/// The answer could not be begun or ended: it is too large for the caller, there is no memory for it, or the
/// protocol cannot carry it.
inline constexpr FixedFailure kAnswerNotSent{
    StatusCode::kResourceExhausted, Layer::kRpc, Retry::kNever,
    "the handler's answer could not be sent: the caller was told why in its place"};

/// Stands before the sink of an ordinary function's call that passed interceptors, and notes its outcome for
/// them. Lasts while the handler runs.
class InterceptedSink final : public ForwardingSink {
 public:
  /// Both outlive it.
  InterceptedSink(AnswerSink& sink, GatePass& pass) : ForwardingSink(sink), pass_(pass) {}

  std::byte* begin_answer(std::uint64_t id, std::size_t bytes, std::uint64_t attachment_bytes) override;
  std::byte* begin_answer_around(std::uint64_t id, std::size_t bytes, std::uint64_t attachment_bytes,
                                 const RunsInChunk& lent) override;
  void end_answer() override {
    ForwardingSink::end_answer();
    note_failed_end();
  }
  void end_answer_with(std::uint64_t id, Attachment& attachment,
                       std::unique_ptr<AnswerWishes> wishes) override {
    ForwardingSink::end_answer_with(id, attachment, std::move(wishes));
    note_failed_end();
  }
  void fail(std::uint64_t id, const Status& failure) override;
  void refuse(std::uint64_t id, RefusalReason reason, const Status& why) override;
  void refuse_without_memory(std::uint64_t id) override;

 private:
  std::byte* begun(std::byte* body, std::size_t bytes);
  void note_failed_end() {
    if (sink().has_failed_end()) [[unlikely]] {
      pass_.will_fail(Status::of<kAnswerNotSent>());
    }
  }

  GatePass& pass_;
};

}  // namespace weft::detail
