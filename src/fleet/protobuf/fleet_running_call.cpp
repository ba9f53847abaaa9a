// SPDX-License-Identifier: Apache-2.0
#include "fleet/protobuf/fleet_running_call.hpp"

#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "weft/detail/fleet/fleet_call.hpp"
#include "weft/detail/fleet/protobuf/message_attempt.hpp"

namespace weft::protobuf::detail {

namespace {

/// The request's bytes, and a message of the answer's type.
struct SharedBytes {
  using Answer = std::unique_ptr<google::protobuf::Message>;

  std::size_t bytes() const { return request->size(); }
  void write(std::byte* to) const {
    if (!request->empty()) std::memcpy(to, request->data(), request->size());
  }
  Answer make_answer() const { return Answer{response->New()}; }
  static google::protobuf::Message& message(Answer& answer) { return *answer; }

  const std::vector<std::byte>* request;
  const google::protobuf::Message* response;
};

}  // namespace

FleetRunningCall::FleetRunningCall(std::shared_ptr<weft::detail::FleetCore> core,
                                   std::shared_ptr<const weft::detail::MethodKey> method,
                                   Controller* controller, const FleetCallOptions& options)
    : RunningCall(core->loop(), controller),
      weft::detail::Completion{&ended},
      weft::detail::Ready(
          [](weft::detail::Ready* self) noexcept { static_cast<FleetRunningCall*>(self)->end(); }),
      core_(std::move(core)),
      method_(std::move(method)),
      options_(options) {}

void FleetRunningCall::begin(KeptRequest request, google::protobuf::Message& response,
                             google::protobuf::Closure* done) {
  self_ = shared_from_this();
  request_ = std::move(request);
  response_ = &response;
  done_ = done;
  outcome_ = cancel_requested() ? to_status(CancelReason::kRequested) : std::move(request_.failure);
  if (outcome_.ok()) {
    try {
      running_ = run(this);
      return weft::detail::start(running_, &scope_, *this);
    } catch (const std::bad_alloc&) {
      outcome_ = Status::of<weft::detail::kOutOfMemory>();
    }
  }
  loop().schedule(*this);
}

Task<void> FleetRunningCall::run(FleetRunningCall* self) {
  const SharedBytes shared{&self->request_.bytes, self->response_};
  auto calling = weft::detail::fleet_call<MessageAttempt<SharedBytes>>(self->core_, *self->method_,
                                                                       self->options_, shared, true);
  auto answer = co_await std::move(calling);
  self->outcome_ = answer.status();
  if (!answer.ok()) co_return;
  self->response_->GetReflection()->Swap(self->response_, answer->value.get());
  self->attachment_ = std::move(answer->attachment);
  self->attachment_bytes_ = answer->attachment_bytes;
}

void FleetRunningCall::ended(weft::detail::Completion& self, weft::detail::TaskPromiseBase& task) noexcept {
  auto& call = static_cast<FleetRunningCall&>(self);
  if (task.failed()) call.outcome_ = Status::of<weft::detail::kOutOfMemory>();
  call.loop().schedule(call);
}

// The timers of a loop fire in its turns only, and so does this.
void FleetRunningCall::end_by(Deadline deadline) {
  if (!deadline.is_infinite()) loop().arm(*this, deadline.at());
}

void FleetRunningCall::drop(const Status& why) {
  const std::shared_ptr<RunningCall> kept = std::move(self_);
  if (kept == nullptr) return;  // it has ended
  loop().disarm(*this);
  running_.reset();
  if (is_scheduled()) loop().unschedule(*this);
  const auto core = std::move(core_);
  release_controller(why);
}

// The controller is free for its next call before `done` hears of the end of this one.
void FleetRunningCall::end() {
  const std::shared_ptr<RunningCall> kept = std::move(self_);
  loop().disarm(*this);
  running_.reset();
  const auto core = std::move(core_);
  release_controller(std::move(outcome_), std::move(attachment_), attachment_bytes_);
  done_->Run();
}

}  // namespace weft::protobuf::detail
