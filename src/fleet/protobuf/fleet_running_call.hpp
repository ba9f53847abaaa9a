// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "weft/detail/coro/cancel.hpp"
#include "weft/detail/coro/executor.hpp"
#include "weft/detail/coro/task.hpp"
#include "weft/detail/fleet/fleet_core.hpp"
#include "weft/detail/fleet/fleet_options.hpp"
#include "weft/detail/memory/buffer.hpp"
#include "weft/detail/protobuf/running_call.hpp"
#include "weft/detail/runtime/timer.hpp"

namespace weft::protobuf::detail {

/// A Channel's call of a fleet. Each attempt uses the bytes of the one request, and has an answer of its own.
/// The answer of the deciding attempt is moved to the caller's response: other attempts leave nothing there.
class FleetRunningCall final : public RunningCall,
                               private weft::detail::Completion,
                               private weft::detail::Ready,
                               private weft::detail::Timer {
 public:
  FleetRunningCall(std::shared_ptr<weft::detail::FleetCore> core,
                   std::shared_ptr<const weft::detail::MethodKey> method, Controller* controller,
                   const FleetCallOptions& options);
  ~FleetRunningCall() override = default;

  void begin(const google::protobuf::Message& request, google::protobuf::Message& response,
             google::protobuf::Closure* done) override {
    begin(KeptRequest{request}, response, done);
  }
  void begin(KeptRequest request, google::protobuf::Message& response,
             google::protobuf::Closure* done) override;
  void cancel(CancelReason reason) noexcept override { scope_.cancel(reason); }
  void end_by(Deadline deadline) override;
  void drop(const Status& why) override;

 private:
  static Task<void> run(FleetRunningCall* self);
  static void ended(weft::detail::Completion& self, weft::detail::TaskPromiseBase& task) noexcept;
  void on_timer() override { scope_.cancel(CancelReason::kDeadline); }
  void end();

  /// Released at the end, on the loop: a thread that holds this record briefly does not destroy a fleet.
  std::shared_ptr<weft::detail::FleetCore> core_;
  const std::shared_ptr<const weft::detail::MethodKey> method_;
  const FleetCallOptions options_;
  KeptRequest request_;
  google::protobuf::Message* response_ = nullptr;
  google::protobuf::Closure* done_ = nullptr;
  Status outcome_;
  Buffer attachment_;
  std::size_t attachment_bytes_ = 0;
  CancelScope scope_;
  Task<void> running_;
  std::shared_ptr<RunningCall> self_;
};

}  // namespace weft::protobuf::detail
