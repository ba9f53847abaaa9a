// SPDX-License-Identifier: Apache-2.0
#include "protobuf/channel_call.hpp"

#include <cstring>
#include <utility>

#include "protobuf/message_bytes.hpp"
#include "weft/detail/base/bytes.hpp"

namespace weft::protobuf::detail {

ChannelCall::ChannelCall(weft::detail::CallTarget& target,
                         std::shared_ptr<const weft::detail::MethodKey> method, Controller* controller,
                         const CallOptions& options)
    : RunningCall(target.loop(), controller),
      WithDetails(options, true),
      weft::detail::PendingCall(target, *method, WithDetails::get()),
      weft::detail::Ready([](weft::detail::Ready* self) noexcept { static_cast<ChannelCall*>(self)->end(); }),
      target_(target),
      method_(std::move(method)) {}

void ChannelCall::begin(const google::protobuf::Message& request, google::protobuf::Message& response,
                        google::protobuf::Closure* done) {
  if (target_.repeats_calls()) return begin(KeptRequest{request}, response, done);
  if (!take_over(response, done, fault_of(request))) return;
  const weft::detail::Begun begun = weft::detail::PendingCall::begin(nullptr, bytes_of(request));
  if (begun.body != nullptr) {
    write_message(request, begun.body);
    if (begun.needs_sent()) sent();
  } else if (begun.has_ended()) {
    RunningCall::loop().schedule(*this);
  } else if (begun.waits()) {
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
  } else if (begun.has_ended()) {
    RunningCall::loop().schedule(*this);
  }
}

// False: the call has ended already, and hears of it in its turn.
bool ChannelCall::take_over(google::protobuf::Message& response, google::protobuf::Closure* done,
                            const Status& refused) {
  self_ = shared_from_this();
  response_ = &response;
  done_ = done;
  const bool cancelled = cancel_requested();
  if (!cancelled && refused.ok()) {
    set_waiter(this);
    return true;
  }
  static_cast<void>(refuse(cancelled ? to_status(CancelReason::kRequested) : refused));
  RunningCall::loop().schedule(*this);
  return false;
}

void ChannelCall::encode_body(std::byte* to) const {
  if (!request_.bytes.empty()) std::memcpy(to, request_.bytes.data(), request_.bytes.size());
}

// Completes here even if another holder keeps it a moment longer to cancel it: messages and controller may be
// destroyed.
void ChannelCall::drop(const Status& why) {
  const std::shared_ptr<RunningCall> kept = std::move(self_);
  if (kept == nullptr) return;  // it has ended
  set_waiter(nullptr);
  on_cancel(CancelReason::kRequested);
  if (is_scheduled()) RunningCall::loop().unschedule(*this);
  release_controller(why);
}

// The controller is free for its next call before `done` hears of the end of this one.
void ChannelCall::end() {
  const std::shared_ptr<RunningCall> kept = std::move(self_);
  release_controller(request_.failure.ok() ? take_failure() : std::move(request_.failure),
                     std::move(WithDetails::details.answer_attachment),
                     WithDetails::details.answer_attachment_bytes, WithDetails::details.answer_metadata());
  done_->Run();
}

}  // namespace weft::protobuf::detail
