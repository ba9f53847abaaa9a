// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/calls/terms/answer_sink.hpp"
#include "weft/detail/calls/terms/chunk_keeping.hpp"

namespace weft::detail {

/// Returns true if `chunk`, in which `body` was received, may be kept for it: the body fills at least a
/// quarter of the chunk, and most of a large one.
inline bool is_worth_keeping(const ChunkRef& chunk, Bytes body) {
  if (!chunk || body.size() < chunk->capacity() / 4) return false;
  return chunk->capacity() <= ChunkPool::kRoomyBy * LargeChunks::kAbove || is_most_of(body, *chunk);
}

/// The call of an ordinary handler, which runs while its request is being received: it does not outlive that.
class InlineCall {
 public:
  /// `body` is in `chunk`, which outlives the call. If `chunk` is null, `body` is in memory that ends with
  /// the call.
  InlineCall(AnswerSink& sink, std::uint64_t id, Bytes body, const ChunkRef* chunk = nullptr)
      : sink_(&sink), id_(id), body_(body), chunk_(chunk) {}

  Bytes body() const { return body_; }
  /// Returns room for the answer's body, to be encoded at once and followed by end_answer(). Null when the
  /// answer cannot be sent.
  std::byte* begin_answer(std::size_t bytes) { return sink_->begin_answer(id_, bytes, 0); }
  void end_answer() { sink_->end_answer(); }
  /// Returns the pool of the chunks from which runs of the answer can be sent without a copy; null: it is
  /// written whole.
  ChunkPool* lending_chunks() const { return sink_->lending_chunks(); }
  /// Returns the chunk in which the request was received; empty when it is not worth keeping for the answer.
  friend ChunkRef request_chunk(const InlineCall& call) {
    return call.chunk_ != nullptr && is_worth_keeping(*call.chunk_, call.body_) ? *call.chunk_ : ChunkRef{};
  }
  /// The same for a body written without the `lent` runs; only where lending_chunks() is not null.
  std::byte* begin_answer(std::size_t bytes, const RunsInChunk* lent) {
    return sink_->begin_answer_around(id_, bytes, 0, *lent);
  }
  void end_answer(const RunsInChunk* lent) {
    sink_->put_runs_in(*lent, false);
    sink_->end_answer();
  }
  /// Replaces end_answer(): the begun answer could not be encoded, and another one is sent instead.
  void take_back_answer(const std::byte* body) { sink_->take_back_answer(body); }
  void fail(const Status& failure) { sink_->fail(id_, failure); }
  /// The body does not match the parameters of the method.
  void refuse_arguments(const Status& failure) { sink_->refuse(id_, RefusalReason::kBadArguments, failure); }

 private:
  AnswerSink* sink_;
  std::uint64_t id_;
  Bytes body_;
  const ChunkRef* chunk_;
};

}  // namespace weft::detail
