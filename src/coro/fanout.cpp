// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/coro/fanout.hpp"

namespace weft::detail {

void Fanout::task_ended(Completion& self, TaskPromiseBase& task) noexcept {
  auto& fanout = static_cast<Fanout&>(self);
  if (fanout.first_ended_ == kNobody) {
    fanout.first_ended_ = task.tag;
    if (fanout.losers_ != nullptr) fanout.losers_->cancel(CancelReason::kRequested);
  }
  if (task.failed() && fanout.first_failed_ == kNobody) {
    fanout.first_failed_ = task.tag;
    fanout.error_ = task.error;
  }
  if (--fanout.pending_ == 0) continue_with(fanout.parent_);
}

}  // namespace weft::detail
