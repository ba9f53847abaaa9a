// SPDX-License-Identifier: Apache-2.0
#include "protobuf/channel_call.hpp"

#include <cstring>
#include <new>
#include <utility>

#include "protobuf/run_on.hpp"
#include "weft/base/bytes.hpp"

namespace weft::protobuf::detail {

namespace {

std::size_t bytes_of(const google::protobuf::Message& message) {
  const std::size_t size = message.ByteSizeLong();
  return size <= kMessageBytesMax ? size : kUnencodable;
}

Status fault_of(const google::protobuf::Message& request) {
  return request.IsInitialized() ? Status{} : incomplete(request);
}

}  // namespace

KeptRequest::KeptRequest(const google::protobuf::Message& request) noexcept {
  try {
    failure = fault_of(request);
    if (!failure.ok()) return;
    const std::size_t size = bytes_of(request);
    if (size == kUnencodable) {
      failure = too_large(request, request.ByteSizeLong());
      return;
    }
    bytes.resize(size);
    write_message(request, bytes.data());
  } catch (const std::bad_alloc&) {
    failure = Status::of<kOutOfMemory>();
  }
}

ChannelCall::ChannelCall(weft::detail::CallTarget& target,
                         std::shared_ptr<const weft::detail::MethodKey> method, Controller* controller,
                         const CallOptions& options)
    : WithDetails(options, true),
      weft::detail::PendingCall(target, *method, WithDetails::get()),
      weft::detail::Ready([](weft::detail::Ready* self) noexcept { static_cast<ChannelCall*>(self)->end(); }),
      target_(target),
      method_(std::move(method)),
      controller_(controller) {}

void ChannelCall::begin(const google::protobuf::Message& request, google::protobuf::Message& response,
                        google::protobuf::Closure* done) {
  if (target_.repeats_calls()) return begin(KeptRequest{request}, response, done);
  if (!take_over(response, done, fault_of(request))) return;
  const weft::detail::Begun begun = weft::detail::PendingCall::begin(nullptr, bytes_of(request));
  if (begun.body != nullptr) {
    write_message(request, begun.body);
    if (begun.needs_sent()) sent();
  } else if (!begun.waits()) {
    target_.loop().schedule(*this);
  } else {
    request_ = KeptRequest{request};
    if (!request_.failure.ok()) on_cancel(CancelReason::kRequested);
  }
}

void ChannelCall::begin(KeptRequest request, google::protobuf::Message& response,
                        google::protobuf::Closure* done) {
  request_ = std::move(request);
  if (!take_over(response, done, request_.failure)) return;
  const weft::detail::Begun begun = weft::detail::PendingCall::begin(nullptr, body_bytes());
  if (begun.body != nullptr) {
    encode_body(begun.body);
    if (begun.needs_sent()) sent();
  } else if (!begun.waits()) {
    target_.loop().schedule(*this);
  }
}

// False: the call has ended already, and hears of it in its turn.
bool ChannelCall::take_over(google::protobuf::Message& response, google::protobuf::Closure* done,
                            const Status& refused) {
  self_ = shared_from_this();
  response_ = &response;
  done_ = done;
  const bool cancelled = controller_ != nullptr && controller_->cancel_requested();
  if (!cancelled && refused.ok()) {
    set_waiter(this);
    return true;
  }
  static_cast<void>(refuse(cancelled ? to_status(CancelReason::kRequested) : refused));
  target_.loop().schedule(*this);
  return false;
}

void ChannelCall::encode_body(std::byte* to) const {
  if (!request_.bytes.empty()) std::memcpy(to, request_.bytes.data(), request_.bytes.size());
}

void ChannelCall::cancel_soon() {
  run_on(target_.loop(), [call = shared_from_this()] { call->on_cancel(CancelReason::kRequested); });
}

// Done when this returns, whoever else keeps it a moment longer to cancel it: messages and controller go.
void ChannelCall::drop(const Status& why) {
  const std::shared_ptr<ChannelCall> kept = std::move(self_);
  if (kept == nullptr) return;  // it has ended
  set_waiter(nullptr);
  on_cancel(CancelReason::kRequested);
  if (is_scheduled()) target_.loop().unschedule(*this);
  if (controller_ == nullptr) return;
  controller_->end();
  controller_->status_ = why;
}

// The controller is free for its next call before `done` hears of the end of this one.
void ChannelCall::end() {
  const std::shared_ptr<ChannelCall> kept = std::move(self_);
  if (controller_ != nullptr) {
    controller_->end();
    controller_->status_ = request_.failure.ok() ? take_failure() : std::move(request_.failure);
    controller_->answer_attachment_ = std::move(WithDetails::details.answer_attachment);
    controller_->answer_attachment_bytes_ = WithDetails::details.answer_attachment_bytes;
  }
  done_->Run();
}

}  // namespace weft::protobuf::detail
