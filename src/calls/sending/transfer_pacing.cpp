// SPDX-License-Identifier: Apache-2.0
#include "calls/sending/transfer_pacing.hpp"

#include "weft/detail/runtime/loop.hpp"

namespace weft::detail {

OutgoingTransfer* TransferPacing::next_due() noexcept {
  if (waiting_.empty()) return nullptr;
  const TimePoint now = loop_.read_clock();
  if (of_all_.is_limited() && of_all_.due() > now) {
    wake_at(of_all_.due());
    return nullptr;
  }
  while (!waiting_.empty()) {
    OutgoingTransfer& first = waiting_.front();
    if (!first.pace().is_limited() || first.pace().due() <= now) return &first;
    first.unlink();
    resting_.push_back(first);
    wake_at(first.pace().due());
  }
  return nullptr;
}

void TransferPacing::take(OutgoingTransfer& transfer, std::size_t bytes) noexcept {
  const TimePoint now = loop_.read_clock();
  if (transfer.pace().is_limited()) transfer.pace().take(bytes, now);
  if (of_all_.is_limited()) of_all_.take(bytes, now);
}

void TransferPacing::left() noexcept {
  if (armed() && resting_.empty() && waiting_.empty()) loop_.disarm(*this);
}

void TransferPacing::wake_at(TimePoint due) noexcept {
  if (!armed() || due < at()) loop_.arm(*this, due);
}

void TransferPacing::on_timer() {
  const TimePoint now = loop_.read_clock();
  resting_.for_each([&](OutgoingTransfer& transfer) {
    if (transfer.pace().due() > now) return wake_at(transfer.pace().due());
    transfer.unlink();
    waiting_.push_back(transfer);
  });
  if (!waiting_.empty()) connection_.pull_from(&source_);
}

}  // namespace weft::detail
