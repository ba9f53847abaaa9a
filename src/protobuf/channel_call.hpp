// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "weft/detail/calls/call/awaited_call.hpp"
#include "weft/detail/protobuf/message.hpp"
#include "weft/detail/protobuf/running_call.hpp"

namespace weft::protobuf::detail {

/// A Channel's call of the one server that a client or a pool calls.
class ChannelCall final : public RunningCall,
                          private weft::detail::WithDetails,
                          private weft::detail::PendingCall,
                          private weft::detail::Ready {
 public:
  ChannelCall(weft::detail::CallTarget& target, std::shared_ptr<const weft::detail::MethodKey> method,
              Controller* controller, const CallOptions& options);

  void begin(const google::protobuf::Message& request, google::protobuf::Message& response,
             google::protobuf::Closure* done) override;
  void begin(KeptRequest request, google::protobuf::Message& response,
             google::protobuf::Closure* done) override;
  void cancel(CancelReason reason) noexcept override { on_cancel(reason); }
  void end_by(Deadline deadline) override { limit(deadline); }
  void drop(const Status& why) override;

 private:
  /// Asked for by a call that waits.
  std::size_t body_bytes() const override { return request_.bytes.size(); }
  void encode_body(std::byte* to) const override;
  bool take_over(google::protobuf::Message& response, google::protobuf::Closure* done, const Status& refused);
  void decode_answer(Bytes body, Status& failure) noexcept override {
    read_answer(*response_, body, failure);
  }
  void end();

  /// Not used once the call has begun: a client may be destroyed before the end of its calls is reported.
  weft::detail::CallTarget& target_;
  const std::shared_ptr<const weft::detail::MethodKey> method_;
  KeptRequest request_;
  google::protobuf::Message* response_ = nullptr;
  google::protobuf::Closure* done_ = nullptr;
  std::shared_ptr<RunningCall> self_;
};

}  // namespace weft::protobuf::detail
