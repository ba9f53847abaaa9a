// SPDX-License-Identifier: Apache-2.0
#include "calls/sending/answer_transfer.hpp"

#include <utility>

#include "weft/detail/calls/terms/transfer_progress.hpp"

namespace weft::detail {

AnswerTransfer::AnswerTransfer(Loop& loop, Outbox& outbox, Attachment attachment,
                               std::unique_ptr<AnswerWishes> wishes)
    : outbox_(outbox), attachment_(std::move(attachment)), wishes_(std::move(wishes)) {
  begin(attachment_.view());
  if (wishes_ == nullptr || !wishes_->are_to_be_told()) return;
  TransferProgress* const progress = wishes_->progress.get();
  marks_.begin(*this, attachment_.size(), progress);
  if (progress == nullptr) return;
  progress->begin(attachment_.size());
  progress->run_on(loop);
}

AnswerTransfer::~AnswerTransfer() {
  if (table_ != nullptr) table_->erase(*this);
}

void AnswerTransfer::enter(IdTable<AnswerTransfer>& table) {
  table.insert(*this);
  table_ = &table;
}

bool AnswerTransfer::queue_whole() {
  if (queue(outbox_, bytes_left())) return true;
  stop();
  return false;
}

void AnswerTransfer::stop() noexcept {
  stopped_ = true;
  if (give_up()) end(false);
}

void AnswerTransfer::on_returned(bool sent) noexcept {
  end(sent && !stopped_);
}

void AnswerTransfer::end(bool sent) noexcept {
  if (wishes_ != nullptr) wishes_->end(sent);
  delete this;
}

}  // namespace weft::detail
