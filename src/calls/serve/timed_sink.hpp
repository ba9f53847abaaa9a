// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "calls/gate/forwarding_sink.hpp"

namespace weft::detail {

/// Stands before the sink of an ordinary function's call that is timed, and notes the size of the answer.
/// Lasts while the handler runs.
class TimedSink final : public ForwardingSink {
 public:
  /// `sink` outlives it.
  explicit TimedSink(AnswerSink& sink) : ForwardingSink(sink) {}

  /// Returns the size of the answer that was begun last.
  std::uint64_t bytes() const noexcept { return bytes_; }

  std::byte* begin_answer(std::uint64_t id, std::size_t bytes, std::uint64_t attachment_bytes) override {
    bytes_ = bytes;
    return ForwardingSink::begin_answer(id, bytes, attachment_bytes);
  }
  std::byte* begin_answer_around(std::uint64_t id, std::size_t bytes, std::uint64_t attachment_bytes,
                                 const RunsInChunk& lent) override {
    bytes_ = bytes;
    return ForwardingSink::begin_answer_around(id, bytes, attachment_bytes, lent);
  }

 private:
  std::uint64_t bytes_ = 0;
};

}  // namespace weft::detail
