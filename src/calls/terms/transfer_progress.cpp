// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/terms/transfer_progress.hpp"

#include <utility>

#include "weft/detail/runtime/escaped.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft {

TransferProgress::TransferProgress() noexcept
    : Ready([](Ready* self) noexcept { static_cast<TransferProgress*>(self)->tell(); }) {}

void TransferProgress::on_change(detail::UniqueFunction<void(const TransferProgress&)> callback,
                                 std::uint64_t step) {
  if (telling_ != nullptr) telling_->has_another = true;
  callback_ = std::move(callback);
  step_ = step;
}

void TransferProgress::begin(std::uint64_t to_send) noexcept {
  to_send_ = to_send;
  sent_ = received_ = to_receive_ = told_ = 0;
}

void TransferProgress::begin_receiving(std::uint64_t to_receive, Loop& loop) noexcept {
  begin(0);
  expect(to_receive);
  run_on(loop);
  set_taken(true);
}

void TransferProgress::count_sent(std::uint64_t bytes) noexcept {
  if (bytes == 0) return;
  sent_ += bytes;
  changed(sent_ == to_send_);
}

void TransferProgress::count_received(std::uint64_t bytes) noexcept {
  if (bytes == 0) return;
  received_ += bytes;
  changed(received_ == to_receive_);
}

// The callback may cancel calls, so it runs later and not in the middle of a connection's work.
void TransferProgress::changed(bool whole) noexcept {
  if ((!callback_ && telling_ == nullptr) || loop_ == nullptr || is_scheduled()) return;
  if (sent_ + received_ - told_ >= step_ || whole) loop_->schedule(*this);
}

void TransferProgress::tell() noexcept {
  unlink();
  if (!callback_ || std::exchange(told_, sent_ + received_) == sent_ + received_) return;
  Telling telling;
  telling_ = &telling;
  detail::UniqueFunction<void(const TransferProgress&)> callback = std::move(callback_);
  try {
    callback(*this);
  } catch (...) {
    detail::callback_threw("TransferProgress::on_change()");
  }
  if (telling.is_gone) return;
  telling_ = nullptr;
  if (!telling.has_another) callback_ = std::move(callback);
}

}  // namespace weft
