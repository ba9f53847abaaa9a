// SPDX-License-Identifier: Apache-2.0
#include "calls/landing/arriving_call.hpp"

#include <memory>
#include <utility>

#include "calls/landing/arriving_calls.hpp"
#include "calls/terms/admission.hpp"

namespace weft::detail {

namespace {

constexpr FixedFailure kGivenUpArriving{StatusCode::kCancelled, Layer::kRpc, Retry::kNever,
                                        "the caller gave up"};

}  // namespace

ArrivingCall::ArrivingCall(ArrivingCalls& calls, ArrivingCallsOwner& owner, Admission& admission,
                           const Frame& frame, ChunkRef chunk, KeptBody kept, std::size_t charge,
                           ArrivingBuffer attachment, Deadline deadline)
    : ArrivingAttachment(calls, frame.header.id, frame.header.attachment_bytes, deadline),
      owner_(owner),
      admission_(admission),
      frame_(frame),
      chunk_(std::move(chunk)),
      kept_(std::move(kept)),
      attachment_(std::move(attachment)),
      charge_(charge) {
  if (!chunk_) frame_.body = kept_.bytes();
}

ArrivingCall::~ArrivingCall() {
  release_charge();
}

void ArrivingCall::release_charge() noexcept {
  if (charge_ != 0) admission_.leave(std::exchange(charge_, 0));
}

std::optional<Refusal> ArrivingCall::charge(std::size_t arrived) noexcept {
  return admission_.charge_arriving(attachment_, arrived);
}

// The call is admitted anew when it is served, so it counts no longer as one that arrives.
void ArrivingCall::on_whole() {
  const std::unique_ptr<ArrivingCall> self{this};
  release_charge();
  Result<Buffer> attachment = std::exchange(attachment_, {}).take();
  if (!attachment.ok()) return owner_.on_call_refused(request(), over_process_memory());
  owner_.on_call_arrived(*this, std::move(*attachment));
}

void ArrivingCall::on_refused(const Refusal& refusal) {
  const std::unique_ptr<ArrivingCall> self{this};
  release_charge();
  if (pass_ != nullptr) pass_->refused(refusal.status);
  owner_.on_call_refused(request(), refusal);
}

void ArrivingCall::on_failed(const Status& failure) {
  const std::unique_ptr<ArrivingCall> self{this};
  release_charge();
  if (pass_ != nullptr) pass_->refused(failure);
  owner_.on_call_failed(request(), failure);
}

void ArrivingCall::on_given_up() {
  on_failed(Status::of<kGivenUpArriving>());
}

}  // namespace weft::detail
