// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/protobuf/controller.hpp"

#include <utility>

#include "protobuf/generic_record.hpp"
#include "weft/detail/base/assert.hpp"
#include "weft/detail/protobuf/running_call.hpp"

namespace weft::protobuf {

Controller::Controller(google::protobuf::RpcController& serving)
    : serving_(dynamic_cast<Controller*>(&serving)) {
  WEFT_ASSERT(serving_ != nullptr && serving_->record_ != nullptr,
              "a call is made for another with the Controller that the service was given");
}

Controller::~Controller() {
  WEFT_ASSERT(running_.expired(), "a Controller stays until its call has ended");
}

void Controller::Reset() {
  const std::lock_guard lock(mutex_);
  WEFT_ASSERT(running_.expired() && record_ == nullptr, "a Controller is reset between calls");
  serving_ = nullptr;
  options_ = CallOptions{};
  status_ = Status{};
  answer_attachment_ = Buffer{};
  answer_attachment_bytes_ = 0;
  answer_metadata_ = AnswerMetadata{};
  cancel_requested_ = false;
}

std::string Controller::ErrorText() const {
  return std::string{status_.message()};
}

void Controller::StartCancel() {
  cancel_requested_ = true;
  if (const auto call = running()) call->cancel_soon();
}

void Controller::SetFailed(const std::string& reason) {
  status_ = {StatusCode::kUnknown, Layer::kUser, reason};
}

bool Controller::IsCanceled() const {
  return record_ != nullptr ? record_->is_cancelled() : cancel_requested();
}

void Controller::NotifyOnCancel(google::protobuf::Closure* callback) {
  WEFT_ASSERT(record_ != nullptr, "NotifyOnCancel() is for services; a caller cancels by StartCancel()");
  record_->notify_on_cancel(callback);
}

CallContext& Controller::context() {
  WEFT_ASSERT(record_ != nullptr, "only the Controller that a service is given has a context");
  return record_->call().context();
}

CallOptions Controller::options_for_call() const {
  CallOptions options = options_;
  if (serving_ != nullptr) {
    const CallContext& served = serving_->record_->call().context();
    options.deadline = options.deadline.earlier(served.deadline());
    if (!options.metadata.is_given()) options.metadata = served.metadata();
  }
  return options;
}

void Controller::begin(const std::shared_ptr<detail::RunningCall>& call) {
  status_ = Status{};
  {
    const std::lock_guard lock(mutex_);
    WEFT_ASSERT(running_.expired(), "a Controller is of one call at a time");
    running_ = call;
  }
  if (serving_ != nullptr) serving_->record_->cancel_with_it(call);
}

void Controller::finish(Status outcome, Buffer attachment, std::size_t attachment_bytes,
                        AnswerMetadata metadata) {
  {
    const std::lock_guard lock(mutex_);
    running_.reset();
  }
  status_ = std::move(outcome);
  answer_attachment_ = std::move(attachment);
  answer_attachment_bytes_ = attachment_bytes;
  answer_metadata_ = std::move(metadata);
}

std::shared_ptr<detail::RunningCall> Controller::running() const {
  const std::lock_guard lock(mutex_);
  return running_.lock();
}

}  // namespace weft::protobuf
