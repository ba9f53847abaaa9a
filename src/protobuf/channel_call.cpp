// SPDX-License-Identifier: Apache-2.0
#include "protobuf/channel_call.hpp"

#include <utility>

#include "protobuf/run_on.hpp"
#include "weft/base/bytes.hpp"

namespace weft::protobuf::detail {

ChannelCall::ChannelCall(CallTarget& target, std::shared_ptr<const MethodKey> method, Controller* controller,
                         const CallOptions& options)
    : WithExtras(options, true),
      PendingCall(target, *method, WithExtras::get()),
      Ready([](Ready* self) noexcept { static_cast<ChannelCall*>(self)->end(); }),
      target_(target),
      method_(std::move(method)),
      controller_(controller) {}

void ChannelCall::begin(const google::protobuf::Message& request, google::protobuf::Message& response,
                        google::protobuf::Closure* done) {
  self_ = shared_from_this();
  request_ = &request;
  response_ = &response;
  done_ = done;
  if (controller_ != nullptr && controller_->cancel_requested()) {
    static_cast<void>(refuse(to_status(CancelReason::kRequested)));
    return target_.loop().schedule(*this);
  }
  if (!request.IsInitialized()) {
    static_cast<void>(refuse(incomplete(request)));
    return target_.loop().schedule(*this);
  }
  set_waiter(this);
  const Begun begun = PendingCall::begin(nullptr, body_bytes());
  if (begun.body != nullptr) {
    encode_body(begun.body);
    if (begun.needs_sent()) sent();
  } else if (!begun.waits()) {
    target_.loop().schedule(*this);
  }
}

std::size_t ChannelCall::body_bytes() const {
  const std::size_t size = request_->ByteSizeLong();
  return size <= kMessageBytesMax ? size : kUnencodable;
}

void ChannelCall::cancel_soon() {
  run_on(target_.loop(), [call = shared_from_this()] { call->cancel(CancelReason::kRequested); });
}

// Done when this returns, whoever else keeps it a moment longer to cancel it: messages and controller go.
void ChannelCall::drop() {
  const std::shared_ptr<ChannelCall> kept = std::move(self_);
  set_waiter(nullptr);
  cancel(CancelReason::kRequested);
  if (is_scheduled()) target_.loop().unschedule(*this);
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
    controller_->answer_attachment_ = std::move(WithExtras::extras.answer_attachment);
    controller_->answer_attachment_bytes_ = WithExtras::extras.answer_attachment_bytes;
  }
  done_->Run();
}

}  // namespace weft::protobuf::detail
