// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/calls/answer_sink.hpp"
#include "weft/detail/calls/chunk_keeping.hpp"

namespace weft::detail {

/// Tells whether `body` is enough of `chunk`, where it was received, to keep all of that: most of one that is
/// large, of which what is not filled may count.
inline bool is_worth_keeping(const ChunkRef& chunk, Bytes body) {
  if (!chunk || body.size() < chunk->capacity() / 4) return false;
  return chunk->capacity() <= ChunkPool::kRoomyBy * LargeChunks::kAbove || is_most_of(body, *chunk);
}

/// An ordinary handler's call while it runs inside the receiving of its request: nothing outlives that.
class InlineCall {
 public:
  /// `body` is in `chunk`, which outlives the call; null: in memory that ends with it.
  InlineCall(AnswerSink& sink, std::uint64_t id, Bytes body, const ChunkRef* chunk = nullptr)
      : sink_(&sink), id_(id), body_(body), chunk_(chunk) {}

  Bytes body() const { return body_; }
  /// Room for the answer's body, to be encoded at once, then end_answer(); null when it cannot be sent.
  std::byte* begin_answer(std::size_t bytes) { return sink_->begin_answer(id_, bytes, 0); }
  void end_answer() { sink_->end_answer(); }
  /// Returns the pool of the chunks in which runs of the answer may lie; null: it is written whole.
  ChunkPool* lending_chunks() const { return sink_->lending_chunks(); }
  /// Returns the chunk in which the request was received; an empty one when it is not worth keeping for the
  /// answer.
  friend ChunkRef request_chunk(const InlineCall& call) {
    return call.chunk_ != nullptr && is_worth_keeping(*call.chunk_, call.body_) ? *call.chunk_ : ChunkRef{};
  }
  /// The same for a body that is written without what is `lent`, where there are lending_chunks().
  std::byte* begin_answer(std::size_t bytes, const RunsInChunk* lent) {
    return sink_->begin_answer_around(id_, bytes, 0, *lent);
  }
  void end_answer(const RunsInChunk* lent) {
    sink_->put_runs_in(*lent, false);
    sink_->end_answer();
  }
  /// Replaces end_answer(): the answer that was begun cannot be encoded, and something else is answered.
  void take_back_answer(const std::byte* body) { sink_->take_back_answer(body); }
  void fail(const Status& failure) { sink_->fail(id_, failure); }
  /// The body is not one of the method.
  void refuse_arguments(const Status& failure) { sink_->refuse(id_, RefusalReason::kBadArguments, failure); }

 private:
  AnswerSink* sink_;
  std::uint64_t id_;
  Bytes body_;
  const ChunkRef* chunk_;
};

}  // namespace weft::detail
