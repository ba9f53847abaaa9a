// SPDX-License-Identifier: Apache-2.0
#include "calls/arriving_call.hpp"

#include <algorithm>
#include <utility>

#include "calls/arriving_calls.hpp"

namespace weft::detail {

namespace {

constexpr std::size_t kStepBytes = 64 * 1024;
constexpr std::size_t kStepsMax = 1024;

}  // namespace

ArrivingCall::ArrivingCall(ArrivingCalls& owner, const Frame& frame, ChunkRef chunk, KeptBody kept,
                           std::size_t charge, ArrivingBuffer attachment, Deadline deadline)
    : owner_(owner),
      frame_(frame),
      chunk_(std::move(chunk)),
      kept_(std::move(kept)),
      attachment_(std::move(attachment)),
      charge_(charge),
      deadline_(deadline) {
  if (!chunk_) frame_.body = kept_.bytes();
}

bool ArrivingCall::has_got_on(std::uint64_t received_by_connection) noexcept {
  const bool itself = received_ - looked_at_ >= std::max(kStepBytes, attachment_.size() / kStepsMax);
  const bool connection = received_by_connection - looked_at_connection_ >= kStepBytes;
  if (itself) looked_at_ = received_;
  looked_at_connection_ = received_by_connection;
  return itself || (connection && ++waits_ <= kStepsMax);
}

void ArrivingCall::on_timer() {
  owner_.on_time(*this);
}

}  // namespace weft::detail
