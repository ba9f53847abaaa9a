// SPDX-License-Identifier: Apache-2.0
#include "calls/sending/outgoing_transfers.hpp"

#include <algorithm>
#include <new>

#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/wire/heads.hpp"

namespace weft::detail {

namespace {

constexpr FixedFailure kNoMemoryForPiece{StatusCode::kResourceExhausted, Layer::kRpc, Retry::kReconnect,
                                         "out of memory for a piece of an attachment"};

/// Limits for the number of queued answers with attachments, and for their bytes; no more are created while
/// both are exceeded.
constexpr std::uint32_t kAnswersMax = 16;
constexpr std::uint64_t kAnswerBytesMax = std::uint64_t{64} << 20;
/// Age of a turn from which on pieces keep their usual length, because the timers wait for the end of the
/// turn. By then each of sixteen connections has moved a piece of 256 KiB in each direction.
constexpr Duration kLongWithin = std::chrono::milliseconds{2};
/// Size of a copied piece, which is in memory twice.
constexpr std::size_t kCopiedPieceBytes = 128 * 1024;

}  // namespace

void OutgoingTransfers::add(OutgoingTransfer& transfer, Loop& loop, bool announcing) noexcept {
  waiting_.push_back(transfer);
  loop_ = &loop;
  const bool has_rate = rate_max_ != 0 || transfer.pace().is_limited();
  if (has_rate && pacing_ == nullptr && !make_pacing(loop))
    connection_.close(Status::of<kNoMemoryForPiece>());
  if (is_answer(transfer)) {
    ++answers_;
    answer_bytes_ += transfer.bytes_left();
    look_whether_crowded();
  }
  connection_.pull_from(this, announcing ? 1 : 0);
}

void OutgoingTransfers::set_rate(OutgoingTransfer& transfer, std::uint64_t rate) noexcept {
  transfer.pace().change_to(rate);
  if (pacing_ == nullptr && !make_pacing(*loop_)) connection_.close(Status::of<kNoMemoryForPiece>());
}

void OutgoingTransfers::remove(OutgoingTransfer& transfer) noexcept {
  if (transfer.linked()) leave(transfer);
}

void OutgoingTransfers::leave(OutgoingTransfer& transfer) noexcept {
  transfer.unlink();
  if (pacing_ != nullptr) pacing_->left();
  if (!is_answer(transfer)) return;
  --answers_;
  answer_bytes_ -= transfer.bytes_left();
  look_whether_crowded();
}

void OutgoingTransfers::look_whether_crowded() noexcept {
  output_.crowd(answers_ > kAnswersMax && answer_bytes_ > kAnswerBytesMax);
}

void OutgoingTransfers::drop_all() noexcept {
  if (pacing_ != nullptr) pacing_->wake_all();
  while (!waiting_.empty()) waiting_.pop_front().on_dropped();
  if (pacing_ != nullptr) pacing_->left();
}

bool OutgoingTransfers::make_pacing(Loop& loop) noexcept {
  pacing_.reset(new (std::nothrow) TransferPacing(loop, connection_, *this, waiting_, rate_max_));
  return pacing_ != nullptr;
}

// The source stays set while some rest: the connection has more to send before it ends.
OutgoingTransfer* OutgoingTransfers::next() noexcept {
  if (pacing_ != nullptr) {
    OutgoingTransfer* const before = waiting_.empty() ? nullptr : &waiting_.front();
    OutgoingTransfer* const due = pacing_->next_due();
    if (due != before) turn_left_ = kTurnBytes;
    if (due != nullptr) return due;
  } else if (!waiting_.empty()) {
    return &waiting_.front();
  }
  if (!has_more()) connection_.pull_from(nullptr);
  return nullptr;
}

bool OutgoingTransfers::on_pong(std::uint64_t id) noexcept {
  return marks_ != nullptr && marks_->on_pong(id);
}

// The marks of a progress count equally long pieces, and a rate is kept piece by piece.
std::size_t OutgoingTransfers::piece_of(OutgoingTransfer& transfer, bool is_long) const noexcept {
  const Capabilities& carrier = connection_.capabilities();
  if (transfer.is_copied_by(connection_.outbox())) {
    return std::min({transfer.bytes_left(), carrier.piece_bytes, kCopiedPieceBytes});
  }
  const bool is_paced = rate_max_ != 0 || transfer.pace().is_limited();
  const bool may_be_long = is_long && !is_paced && !transfer.is_marked();
  return std::min(transfer.bytes_left(), may_be_long ? carrier.lone_piece_bytes : carrier.piece_bytes);
}

// The transfer may be destroyed when its last piece is queued, because nothing of a copied piece is lent.
std::size_t OutgoingTransfers::queue_piece(bool peer_answers) noexcept {
  OutgoingTransfer* const first = next();
  if (first == nullptr) return 0;
  OutgoingTransfer& transfer = *first;
  // Longer pieces cost less, but delay others: calls, each of them a frame in this direction, and, late in a
  // turn, timers.
  TurnTime& turn = loop_->turn_time();
  const bool may_be_long = connection_.capabilities().lone_piece_bytes != 0;
  const bool has_company = may_be_long && turn.company().is_there(turn.read());
  // If there is no memory for the marks, no piece is held back.
  if (may_be_long && marks_ == nullptr) {
    marks_.reset(new (std::nothrow) PieceMarks(*loop_, connection_, output_, *this));
  }
  if (has_company && peer_answers && marks_ != nullptr && marks_->hold_back()) return 0;
  const std::size_t bytes = piece_of(transfer, may_be_long && !has_company && !turn.has_lasted(kLongWithin));
  const bool last = bytes == transfer.bytes_left();
  // One piece of a connection is copied even without memory for it, because there is no event to wait for.
  if (transfer.is_copied_by(connection_.outbox())) static_cast<void>(output_.reserve(bytes));
  const wire::PieceHead head{.id = transfer.id(),
                             .offset = transfer.offset(),
                             .bytes = bytes,
                             .of_answer = transfer.of_answer(),
                             .last = last,
                             .of_item = transfer.of_item()};
  if (output_.begin(head.header()) == nullptr) return 0;
  output_.end();
  if (pacing_ != nullptr) pacing_->take(transfer, bytes);
  turn_left_ -= static_cast<std::uint32_t>(std::min<std::size_t>(turn_left_, bytes));
  if (last) {
    leave(transfer);
  } else if (is_answer(transfer)) {
    answer_bytes_ -= bytes;
    look_whether_crowded();
  }
  if (last || turn_left_ == 0) {
    turn_left_ = kTurnBytes;
    if (!last) waiting_.push_back(waiting_.pop_front());
  }
  const bool tells = last && transfer.of_item();
  if (transfer.queue(connection_.outbox(), bytes)) {
    if (tells) transfer.on_queued();
    if (marks_ != nullptr) marks_->sent(bytes, has_company);
    return bytes;
  }
  if (last) waiting_.push_back(transfer);
  connection_.close(Status::of<kNoMemoryForPiece>());
  return 0;
}

}  // namespace weft::detail
