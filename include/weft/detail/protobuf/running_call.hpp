// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <google/protobuf/message.h>
#include <google/protobuf/service.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "weft/detail/base/status.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/calls/terms/call_options.hpp"
#include "weft/detail/calls/terms/method_key.hpp"
#include "weft/detail/coro/cancel.hpp"
#include "weft/detail/memory/buffer.hpp"
#include "weft/detail/protobuf/controller.hpp"

namespace weft {
class Loop;
}  // namespace weft

namespace weft::protobuf::detail {

/// A request as bytes, for a call that is not sent before its caller may change or free the message; or the
/// fault of the message.
struct KeptRequest {
  KeptRequest() = default;
  explicit KeptRequest(const google::protobuf::Message& request) noexcept;

  Status failure;
  std::vector<std::byte> bytes;
};

/// A call of a Channel with a callback. It owns itself from begin() until it is done, and then runs its
/// `done` from the loop's queue, never from inside its begin(). Other threads keep it slightly longer to
/// cancel it. Thread: the loop's, except for its end and where stated.
class RunningCall : public std::enable_shared_from_this<RunningCall> {
 public:
  virtual ~RunningCall() = default;

  /// `request` is used before this returns; `response` and `done` stay until `done` was run or the call is
  /// dropped.
  virtual void begin(const google::protobuf::Message& request, google::protobuf::Message& response,
                     google::protobuf::Closure* done) = 0;
  virtual void begin(KeptRequest request, google::protobuf::Message& response,
                     google::protobuf::Closure* done) = 0;
  /// Any thread.
  void cancel_soon();
  virtual void cancel(CancelReason reason) noexcept = 0;
  /// The call ends at `deadline` if it would end later.
  virtual void end_by(Deadline deadline) = 0;
  /// Called without a waiter: ends the call without `done`, and leaves `why` to its controller.
  virtual void drop(const Status& why) = 0;

 protected:
  /// `controller` may be null.
  RunningCall(Loop& loop, Controller* controller) : loop_(loop), controller_(controller) {}

  Loop& loop() const { return loop_; }
  bool cancel_requested() const;
  /// The controller is free for its next call from here on.
  void release_controller(Status outcome, Buffer attachment = {}, std::size_t attachment_bytes = 0,
                          AnswerMetadata metadata = {});

 private:
  Loop& loop_;
  Controller* const controller_;
};

/// Maker of a Channel's calls: the seam for layers that call more than one server.
class CallMaker {
 public:
  virtual ~CallMaker() = default;

  virtual Loop& loop() const = 0;
  /// Default timeout of calls. Thread: any.
  virtual Duration timeout() const = 0;
  /// Makes a call that is not begun yet. `controller` may be null. Thread: the loop's.
  virtual std::shared_ptr<RunningCall> make(std::shared_ptr<const weft::detail::MethodKey> method,
                                            Controller* controller, const CallOptions& options) = 0;
};

}  // namespace weft::protobuf::detail
