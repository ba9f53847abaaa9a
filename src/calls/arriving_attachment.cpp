// SPDX-License-Identifier: Apache-2.0
#include "calls/arriving_attachment.hpp"

#include <algorithm>

#include "calls/arriving_calls.hpp"

namespace weft::detail {

namespace {

constexpr std::size_t kStepBytes = 64 * 1024;
constexpr std::size_t kStepsMax = 1024;

}  // namespace

bool ArrivingAttachment::has_got_on(std::uint64_t received_by_connection) noexcept {
  const bool itself = received_ - looked_at_ >= std::max(kStepBytes, bytes_ / kStepsMax);
  const bool connection = received_by_connection - looked_at_connection_ >= kStepBytes;
  if (itself) looked_at_ = received_;
  looked_at_connection_ = received_by_connection;
  return itself || (connection && ++waits_ <= kStepsMax);
}

void ArrivingAttachment::on_timer() {
  calls_.on_time(*this);
}

}  // namespace weft::detail
