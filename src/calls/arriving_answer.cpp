// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/arriving_answer.hpp"

namespace weft::detail {

namespace {

/// A smaller body is copied, so that its chunk can be received into meanwhile, and so is one that is not most
/// of its chunk.
constexpr std::size_t kCopiedAnswerBytes = 8 * 1024;

}  // namespace

void ArrivingAnswer::begin(const Frame& frame, const ChunkRef& chunk, const Landing& landing) {
  frame_ = frame;
  if (frame.body.size() <= kCopiedAnswerBytes || frame.body.size() < chunk->capacity() / 4 * 3) {
    copied_.assign(frame.body.begin(), frame.body.end());
    frame_.body = copied_;
  } else {
    chunk_ = chunk;
  }
  landing_ = landing;
  received_ = 0;
}

void ArrivingAnswer::end() noexcept {
  landing_ = Landing::skip();
  chunk_.reset();
  copied_ = {};
}

}  // namespace weft::detail
