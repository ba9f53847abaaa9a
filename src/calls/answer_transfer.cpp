// SPDX-License-Identifier: Apache-2.0
#include "calls/answer_transfer.hpp"

#include <utility>

namespace weft::detail {

AnswerTransfer::AnswerTransfer(Outbox& outbox, Buffer attachment, UniqueFunction<void(bool)> on_sent)
    : outbox_(outbox), attachment_(std::move(attachment)), on_sent_(std::move(on_sent)) {
  begin(attachment_.bytes());
}

AnswerTransfer::~AnswerTransfer() {
  if (table_ != nullptr) table_->erase(*this);
}

void AnswerTransfer::enter(IdTable<AnswerTransfer>& table) {
  table.insert(*this);
  table_ = &table;
}

bool AnswerTransfer::queue_whole() {
  if (bytes_left() == 0) {
    on_returned(true);
    return true;
  }
  if (queue(outbox_, bytes_left())) return true;
  stop();
  return false;
}

void AnswerTransfer::stop() noexcept {
  stopped_ = true;
  if (give_up()) end(false);
}

// A small attachment was copied, and is given back before it has left: whoever wants to know waits for the
// mark.
void AnswerTransfer::on_returned(bool sent) noexcept {
  if (!sent || stopped_ || !on_sent_) return end(sent && !stopped_);
  if (!outbox_.append_leased({}, mark_)) end(false);
}

void AnswerTransfer::end(bool sent) noexcept {
  if (on_sent_) on_sent_(sent);
  delete this;
}

}  // namespace weft::detail
