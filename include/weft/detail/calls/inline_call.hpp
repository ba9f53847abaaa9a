// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/calls/answer_sink.hpp"

namespace weft::detail {

/// An ordinary handler's call while it runs inside the receiving of its request: nothing outlives that.
class InlineCall {
 public:
  InlineCall(AnswerSink& sink, std::uint64_t id, Bytes body) : sink_(&sink), id_(id), body_(body) {}

  Bytes body() const { return body_; }
  /// Room for the answer's body, to be encoded at once, then end_answer(); null when it cannot be sent.
  std::byte* begin_answer(std::size_t bytes) { return sink_->begin_answer(id_, bytes, 0); }
  void end_answer() { sink_->end_answer(); }
  /// In place of end_answer(): the answer that was begun cannot be encoded, and something else is answered.
  void take_back_answer(const std::byte* body) { sink_->take_back_answer(body); }
  void fail(const Status& failure) { sink_->fail(id_, failure); }
  /// The body is not one of the method.
  void refuse_arguments(const Status& failure) { sink_->refuse(id_, RefusalReason::kBadArguments, failure); }

 private:
  AnswerSink* sink_;
  std::uint64_t id_;
  Bytes body_;
};

}  // namespace weft::detail
