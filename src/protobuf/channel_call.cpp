// SPDX-License-Identifier: Apache-2.0
#include "protobuf/channel_call.hpp"

#include <utility>

#include "protobuf/run_on.hpp"
#include "weft/base/bytes.hpp"

namespace weft::protobuf::detail {

ChannelCall::ChannelCall(ClientCore& client, Loop& loop, std::shared_ptr<const MethodKey> method,
                         Controller* controller, const CallOptions& options)
    : WithExtras(options, true),
      PendingCall(client, *method, WithExtras::get()),
      Ready([](Ready* self) noexcept { static_cast<ChannelCall*>(self)->end(); }),
      loop_(loop),
      method_(std::move(method)),
      controller_(controller) {}

void ChannelCall::begin(const google::protobuf::Message& request, google::protobuf::Message& response,
                        google::protobuf::Closure* done) {
  self_ = shared_from_this();
  request_ = &request;
  response_ = &response;
  done_ = done;
  if (controller_ != nullptr && controller_->cancel_requested()) {
    refuse(to_status(CancelReason::kRequested));
    return loop_.schedule(*this);
  }
  if (!request.IsInitialized()) {
    refuse(incomplete(request));
    return loop_.schedule(*this);
  }
  set_waiter(this);
  if (std::byte* body = PendingCall::begin(nullptr, body_bytes())) {
    encode_body(body);
    if (needs_sent()) sent();
  } else if (PendingCall::done()) {
    loop_.schedule(*this);
  }
}

std::size_t ChannelCall::body_bytes() const {
  const std::size_t size = request_->ByteSizeLong();
  return size <= kMessageBytesMax ? size : kUnencodable;
}

void ChannelCall::cancel_soon() {
  run_on(loop_, [call = shared_from_this()] { call->cancel(CancelReason::kRequested); });
}

// Done when this returns, whoever else keeps it a moment longer to cancel it: messages and controller go.
void ChannelCall::drop() {
  const std::shared_ptr<ChannelCall> kept = std::move(self_);
  set_waiter(nullptr);
  cancel(CancelReason::kRequested);
  if (is_scheduled()) loop_.unschedule(*this);
  if (controller_ == nullptr) return;
  controller_->end();
  controller_->status_ = to_status(CancelReason::kRequested);
}

// The controller is free for its next call before `done` hears of the end of this one.
void ChannelCall::end() {
  const std::shared_ptr<ChannelCall> kept = std::move(self_);
  if (controller_ != nullptr) {
    controller_->end();
    controller_->status_ = take_failure();
    controller_->answer_attachment_ = std::move(extras.answer_attachment);
    controller_->answer_attachment_bytes_ = extras.answer_attachment_bytes;
  }
  done_->Run();
}

}  // namespace weft::protobuf::detail
