// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <google/protobuf/service.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "weft/detail/base/status.hpp"
#include "weft/detail/calls/serve/call_context.hpp"
#include "weft/detail/calls/terms/answer_metadata.hpp"
#include "weft/detail/calls/terms/call_options.hpp"
#include "weft/detail/memory/buffer.hpp"

namespace weft::protobuf {

namespace detail {
class RunningCall;
class GenericRecord;
}  // namespace detail

/// The RpcController of both sides of calls by protobuf's own stubs and services. A caller makes one, uses it
/// for one call at a time, and keeps it until `done` has run; a service gets one with each call, valid until
/// it runs `done`. Thread: any for StartCancel(), IsCanceled(), NotifyOnCancel(), and SetFailed() before
/// `done`. The rest: the caller's, not while a call is under way.
class Controller final : public google::protobuf::RpcController {
 public:
  Controller() = default;
  /// Makes one for a call that is made for another one: it ends at the deadline of the call that `serving`
  /// (the Controller a service was given) stands for, is cancelled with it, and carries its metadata on.
  /// `serving` stays until the call has ended. All this holds until Reset().
  explicit Controller(google::protobuf::RpcController& serving);
  ~Controller() override;
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  // For the caller.

  void Reset() override;
  bool Failed() const override { return !status_.ok(); }
  /// The text of the failure, as the service gave it to SetFailed(); status() has the code too. It is empty
  /// without a failure.
  std::string ErrorText() const override;
  /// Ends the call soon with kCancelled, reported through `done`. If this is called before the call begins,
  /// the call is not made.
  void StartCancel() override;

  /// Timeout, deadline, attachment, landing and metadata of the next call. Memory that they refer to must
  /// stay until the call has ended.
  CallOptions& options() { return options_; }
  /// The outcome, with its code and what to do about it.
  const Status& status() const { return status_; }
  /// The attachment of the answer, where no landing was named.
  Buffer take_answer_attachment() { return std::move(answer_attachment_); }
  /// The metadata of the answer, or of the failure.
  const AnswerMetadata& answer_metadata() const { return answer_metadata_; }
  std::size_t answer_attachment_bytes() const { return answer_attachment_bytes_; }

  // For the service.

  /// The call fails with kUnknown and this text when `done` is run.
  void SetFailed(const std::string& reason) override;
  /// The same with a code of the service's choice. `failure` is one.
  void fail(Status failure) { status_ = std::move(failure); }
  bool IsCanceled() const override;
  /// `callback` is run once, on the connection's loop: when the call is cancelled, or else when it has ended.
  void NotifyOnCancel(google::protobuf::Closure* callback) override;
  /// Deadline, attachments, endpoints and other facts of the served call.
  CallContext& context();

 private:
  friend class Channel;
  friend class Finished;
  friend class detail::RunningCall;
  friend class detail::GenericRecord;

  /// That of a service, for the call of `record`.
  explicit Controller(detail::GenericRecord& record) : record_(&record) {}

  void begin(const std::shared_ptr<detail::RunningCall>& call);
  /// The call that began has ended so.
  void finish(Status outcome, Buffer attachment, std::size_t attachment_bytes, AnswerMetadata metadata);
  CallOptions options_for_call() const;
  std::shared_ptr<detail::RunningCall> running() const;
  bool cancel_requested() const { return cancel_requested_.load(std::memory_order_relaxed); }

  CallOptions options_{};
  Status status_;
  Buffer answer_attachment_;
  std::size_t answer_attachment_bytes_ = 0;
  AnswerMetadata answer_metadata_;
  Controller* serving_ = nullptr;
  /// Not null on a service's.
  detail::GenericRecord* const record_ = nullptr;

  mutable std::mutex mutex_;
  std::weak_ptr<detail::RunningCall> running_;
  std::atomic<bool> cancel_requested_ = false;
};

}  // namespace weft::protobuf
