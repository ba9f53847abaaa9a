// SPDX-License-Identifier: Apache-2.0
#include "calls/outgoing_transfers.hpp"

#include <algorithm>

#include "weft/detail/wire/heads.hpp"

namespace weft::detail {

namespace {

constexpr FixedFailure kNoMemoryForPiece{StatusCode::kResourceExhausted, Layer::kRpc, Retry::kReconnect,
                                         "out of memory for a piece of an attachment"};

/// With more answers than this, and more of their bytes than that, waiting no more are made.
constexpr std::uint32_t kAnswersMax = 16;
constexpr std::uint64_t kAnswerBytesMax = std::uint64_t{64} << 20;

}  // namespace

void OutgoingTransfers::add(OutgoingTransfer& transfer) noexcept {
  waiting_.push_back(transfer);
  if (transfer.of_answer()) {
    ++answers_;
    answer_bytes_ += transfer.bytes_left();
    look_whether_crowded();
  }
  connection_.pull_from(this);
}

void OutgoingTransfers::remove(OutgoingTransfer& transfer) noexcept {
  if (transfer.linked()) leave(transfer);
}

void OutgoingTransfers::leave(OutgoingTransfer& transfer) noexcept {
  transfer.unlink();
  if (!transfer.of_answer()) return;
  --answers_;
  answer_bytes_ -= transfer.bytes_left();
  look_whether_crowded();
}

void OutgoingTransfers::look_whether_crowded() noexcept {
  output_.crowd(answers_ > kAnswersMax && answer_bytes_ > kAnswerBytesMax);
}

// The transfer may be gone when its last piece is queued: of what was copied nothing is lent.
std::size_t OutgoingTransfers::queue_part() noexcept {
  if (waiting_.empty()) {
    connection_.pull_from(nullptr);
    return 0;
  }
  OutgoingTransfer& transfer = waiting_.front();
  const std::size_t bytes = std::min(transfer.bytes_left(), connection_.capabilities().piece_bytes);
  const bool last = bytes == transfer.bytes_left();
  const wire::PieceHead head{.id = transfer.id(),
                             .offset = transfer.offset(),
                             .bytes = bytes,
                             .of_answer = transfer.of_answer(),
                             .last = last};
  if (output_.begin(head.header()) == nullptr) return 0;
  output_.end();
  turn_left_ -= static_cast<std::uint32_t>(std::min<std::size_t>(turn_left_, bytes));
  if (last) {
    leave(transfer);
  } else if (transfer.of_answer()) {
    answer_bytes_ -= bytes;
    look_whether_crowded();
  }
  if (last || turn_left_ == 0) {
    turn_left_ = kTurnBytes;
    if (!last) waiting_.push_back(waiting_.pop_front());
  }
  if (transfer.queue(connection_.outbox(), bytes)) return bytes;
  if (last) waiting_.push_back(transfer);
  connection_.close(Status::of<kNoMemoryForPiece>());
  return 0;
}

}  // namespace weft::detail
