// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <google/protobuf/service.h>

#include <memory>

#include "weft/calls/awaited_call.hpp"
#include "weft/protobuf/controller.hpp"
#include "weft/protobuf/message.hpp"

namespace weft::protobuf::detail {

/// A call that somebody waits for by a callback. It owns itself from begin() until it is done, and then lets
/// its `done` run from the loop's queue, never from inside its begin(). Others keep it a moment longer to
/// cancel it from their threads. Thread: the client's loop, but for its end.
class ChannelCall final : public std::enable_shared_from_this<ChannelCall>,
                          private weft::detail::WithExtras,
                          private PendingCall,
                          private Ready {
 public:
  ChannelCall(CallTarget& target, std::shared_ptr<const MethodKey> method, Controller* controller,
              const CallOptions& options);

  /// `request`, `response` and `done` stay until `done` was run or the call is dropped.
  void begin(const google::protobuf::Message& request, google::protobuf::Message& response,
             google::protobuf::Closure* done);
  /// Any thread.
  void cancel_soon();
  /// Nobody waits any more: ends it without `done`.
  void drop();

  using PendingCall::cancel;
  using PendingCall::limit;

 private:
  std::size_t body_bytes() const override;
  void encode_body(std::byte* to) const override { write_message(*request_, to); }
  void decode_answer(Bytes body, Status& failure) noexcept override {
    read_answer(*response_, body, failure);
  }
  void end();

  CallTarget& target_;
  const std::shared_ptr<const MethodKey> method_;
  Controller* controller_;
  const google::protobuf::Message* request_ = nullptr;
  google::protobuf::Message* response_ = nullptr;
  google::protobuf::Closure* done_ = nullptr;
  std::shared_ptr<ChannelCall> self_;
};

}  // namespace weft::protobuf::detail
