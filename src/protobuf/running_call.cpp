// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/protobuf/running_call.hpp"

#include <new>
#include <utility>

#include "protobuf/message_bytes.hpp"
#include "protobuf/run_on.hpp"
#include "weft/detail/protobuf/message.hpp"

namespace weft::protobuf::detail {

KeptRequest::KeptRequest(const google::protobuf::Message& request) noexcept {
  try {
    failure = fault_of(request);
    if (!failure.ok()) return;
    const std::size_t size = bytes_of(request);
    if (size == weft::detail::kUnencodable) {
      failure = too_large(request, request.ByteSizeLong());
      return;
    }
    bytes.resize(size);
    write_message(request, bytes.data());
  } catch (const std::bad_alloc&) {
    failure = Status::of<weft::detail::kOutOfMemory>();
  }
}

void RunningCall::cancel_soon() {
  run_on(loop_, [call = shared_from_this()] { call->cancel(CancelReason::kRequested); });
}

bool RunningCall::cancel_requested() const {
  return controller_ != nullptr && controller_->cancel_requested();
}

void RunningCall::release_controller(Status outcome, Buffer attachment, std::size_t attachment_bytes,
                                     AnswerMetadata metadata) {
  if (controller_ == nullptr) return;
  controller_->finish(std::move(outcome), std::move(attachment), attachment_bytes, std::move(metadata));
}

}  // namespace weft::protobuf::detail
