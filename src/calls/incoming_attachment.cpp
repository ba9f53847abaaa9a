// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/incoming_attachment.hpp"

#include <string>

#include "calls/call_status.hpp"
#include "calls/incoming_transfer.hpp"
#include "weft/detail/calls/served_call.hpp"

namespace weft {

namespace {

constexpr FixedFailure kReceivedTwice{StatusCode::kInvalidArgument, Layer::kUser, Retry::kNever,
                                      "an IncomingAttachment is received once"};

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

IncomingAttachment::Into IncomingAttachment::into(LandingView memory) noexcept {
  return Into{transfer_, memory, false};
}

IncomingAttachment::Received IncomingAttachment::receive() noexcept {
  return Received{Into{transfer_, {}, true}};
}

IncomingAttachment::Into::~Into() {
  if (waits_) transfer_->stop_waiting();
}

bool IncomingAttachment::Into::begin(CancelScope* scope) noexcept {
  if (transfer_ == nullptr) return false;
  if (!transfer_->can_begin()) {
    misuse_ = Status::of<kReceivedTwice>();
  } else if (Status bad = detail::check_runs("what the handler chose for an attachment", memory_.fault());
             !bad.ok()) {
    misuse_ = std::move(bad);
  } else if (!own_ && memory_.bytes() < transfer_->bytes()) {
    misuse_ = too_small(transfer_->bytes(), memory_.bytes());
  } else {
    waits_ = transfer_->begin(memory_, scope, resumption_);
  }
  return waits_;
}

Status IncomingAttachment::Into::take_outcome() noexcept {
  waits_ = false;
  if (!misuse_.ok() || transfer_ == nullptr) return std::move(misuse_);
  return transfer_->take_outcome();
}

Result<Buffer> IncomingAttachment::Into::take_buffer() noexcept {
  waits_ = false;
  if (!misuse_.ok()) return std::move(misuse_);
  if (transfer_ == nullptr) return Buffer{};
  return transfer_->take_buffer();
}

}  // namespace weft
