// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/call/arriving_answer.hpp"

#include "weft/detail/calls/terms/chunk_keeping.hpp"

namespace weft::detail {

void ArrivingAnswer::begin(const Frame& frame, const ChunkRef& chunk, const Landing& landing) {
  frame_ = frame;
  if (stays_in_chunk(frame.body, chunk)) {
    chunk_ = chunk;
  } else {
    copied_.assign(frame.body.begin(), frame.body.end());
    frame_.body = copied_;
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
