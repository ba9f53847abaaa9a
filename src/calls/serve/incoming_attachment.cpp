// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/serve/incoming_attachment.hpp"

#include <string>

#include "calls/landing/incoming_transfer.hpp"
#include "calls/terms/call_status.hpp"
#include "weft/detail/calls/serve/served_call.hpp"
#include "weft/detail/calls/terms/transfer_progress.hpp"

namespace weft {

namespace {

constexpr FixedFailure kReceivedTwice{
    StatusCode::kInvalidArgument, Layer::kUser, Retry::kNever,
    "an IncomingAttachment is received once, by into() or receive(), also when "
    "that failed or was cancelled: fail the call, so that its caller can send "
    "it again"};
constexpr FixedFailure kProgressTaken{
    StatusCode::kInvalidArgument, Layer::kUser, Retry::kNever,
    "the TransferProgress for an attachment counts for something else; give each its own"};

Status too_small(std::size_t bytes, std::size_t room) {
  return {StatusCode::kResourceExhausted, Layer::kUser,
          [&] {
            return "the attachment of " + std::to_string(bytes) + " bytes does not fit into the " +
                   std::to_string(room) + " bytes that the handler chose for it";
          },
          0, Retry::kNever};
}

}  // namespace

IncomingAttachment::IncomingAttachment(detail::ServedCall& call)
    : transfer_(call.envelope_if_any() != nullptr ? call.envelope().incoming.get() : nullptr) {}

std::size_t IncomingAttachment::size() const noexcept {
  return transfer_ != nullptr ? transfer_->bytes() : 0;
}

std::size_t IncomingAttachment::received() const noexcept {
  return transfer_ != nullptr ? transfer_->received() : 0;
}

IncomingAttachment::Into IncomingAttachment::into(LandingView memory, TransferProgress* progress) noexcept {
  return Into{transfer_, memory, progress, false};
}

IncomingAttachment::Received IncomingAttachment::receive(TransferProgress* progress) noexcept {
  return Received{Into{transfer_, {}, progress, true}};
}

IncomingAttachment::Into::~Into() {
  if (!waits_) return;
  transfer_->stop_waiting();
  end();
}

Status IncomingAttachment::Into::misuse() const noexcept {
  if (progress_ != nullptr && progress_->is_taken()) return Status::of<kProgressTaken>();
  if (transfer_ == nullptr) return {};
  if (!transfer_->can_begin()) return Status::of<kReceivedTwice>();
  if (Status bad = detail::check_runs("what the handler chose for an attachment", memory_.fault());
      !bad.ok()) {
    return bad;
  }
  return own_ || memory_.bytes() >= transfer_->bytes() ? Status{}
                                                       : too_small(transfer_->bytes(), memory_.bytes());
}

bool IncomingAttachment::Into::begin(CancelScope* scope) noexcept {
  misuse_ = misuse();
  if (!misuse_.ok()) {
    progress_ = nullptr;
  } else if (transfer_ != nullptr) {
    waits_ = transfer_->begin(memory_, scope, resumption_, progress_);
  } else if (progress_ != nullptr) {
    progress_->begin(0);
  }
  return waits_;
}

void IncomingAttachment::Into::end() noexcept {
  waits_ = false;
  if (progress_ != nullptr) progress_->stay_silent();
}

Status IncomingAttachment::Into::take_outcome() noexcept {
  end();
  if (!misuse_.ok() || transfer_ == nullptr) return std::move(misuse_);
  return transfer_->take_outcome();
}

Result<Buffer> IncomingAttachment::Into::take_buffer() noexcept {
  end();
  if (!misuse_.ok()) return std::move(misuse_);
  if (transfer_ == nullptr) return Buffer{};
  return transfer_->take_buffer();
}

}  // namespace weft
