// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <google/protobuf/service.h>

#include <memory>
#include <vector>

#include "weft/detail/calls/awaited_call.hpp"
#include "weft/protobuf/controller.hpp"
#include "weft/protobuf/message.hpp"

namespace weft::protobuf::detail {

/// A request as bytes, for a call that is not sent before its caller may change or free the message; or what
/// is wrong with it.
struct KeptRequest {
  KeptRequest() = default;
  explicit KeptRequest(const google::protobuf::Message& request) noexcept;

  Status failure;
  std::vector<std::byte> bytes;
};

/// A call that somebody waits for by a callback. It owns itself from begin() until it is done, and then lets
/// its `done` run from the loop's queue, never from inside its begin(). Others keep it a moment longer to
/// cancel it from their threads. Thread: the client's loop, but for its end.
class ChannelCall final : public std::enable_shared_from_this<ChannelCall>,
                          private weft::detail::WithDetails,
                          private weft::detail::PendingCall,
                          private weft::detail::Ready {
 public:
  ChannelCall(weft::detail::CallTarget& target, std::shared_ptr<const weft::detail::MethodKey> method,
              Controller* controller, const CallOptions& options);

  /// `request` is used before this returns; `response` and `done` stay until `done` was run or the call is
  /// dropped.
  void begin(const google::protobuf::Message& request, google::protobuf::Message& response,
             google::protobuf::Closure* done);
  void begin(KeptRequest request, google::protobuf::Message& response, google::protobuf::Closure* done);
  /// Any thread.
  void cancel_soon();
  /// Nobody waits any more: ends it without `done`, and leaves `why` to its controller.
  void drop(const Status& why);

  using weft::detail::PendingCall::limit;
  using weft::detail::PendingCall::on_cancel;

 private:
  /// Of a call that waits.
  std::size_t body_bytes() const override { return request_.bytes.size(); }
  void encode_body(std::byte* to) const override;
  bool take_over(google::protobuf::Message& response, google::protobuf::Closure* done, const Status& refused);
  void decode_answer(Bytes body, Status& failure) noexcept override {
    read_answer(*response_, body, failure);
  }
  void end();

  weft::detail::CallTarget& target_;
  const std::shared_ptr<const weft::detail::MethodKey> method_;
  Controller* controller_;
  KeptRequest request_;
  google::protobuf::Message* response_ = nullptr;
  google::protobuf::Closure* done_ = nullptr;
  std::shared_ptr<ChannelCall> self_;
};

}  // namespace weft::protobuf::detail
