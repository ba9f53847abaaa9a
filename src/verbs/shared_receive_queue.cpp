// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/verbs/shared_receive_queue.hpp"

#include <cerrno>
#include <utility>

#include "verbs/posting.hpp"
#include "weft/detail/verbs/status.hpp"

namespace weft::verbs {

Received detail::Receive::result(const Outcome& outcome) noexcept {
  Received received{.bytes = outcome.bytes, .immediate = {}, .queue_pair = outcome.queue_pair};
  if (outcome.has_immediate) received.immediate = outcome.immediate;
  return received;
}

Result<std::unique_ptr<SharedReceiveQueue>> SharedReceiveQueue::create(
    std::shared_ptr<ProtectionDomain> domain, CompletionQueue& completions,
    const SharedReceiveQueueOptions& options) {
  if (options.segments_max == 0 || options.segments_max > detail::kSegmentsMax || options.receives_max == 0) {
    return Status{StatusCode::kInvalidArgument, Layer::kTransport,
                  "SharedReceiveQueueOptions: from 1 receive on, of 1 to 32 pieces of memory, are possible"};
  }
  auto queue = std::make_unique<SharedReceiveQueue>(Private{}, std::move(domain), completions, options);
  if (!completions.reserve(options.receives_max)) {
    return completions.no_room_for(options.receives_max, "a shared receive queue");
  }
  queue->reserved_ = options.receives_max;
  ibv_srq_init_attr attributes{};
  attributes.attr.max_wr = static_cast<std::uint32_t>(options.receives_max);
  attributes.attr.max_sge = static_cast<std::uint32_t>(options.segments_max);
  queue->handle_ = queue->domain_->driver().create_srq(queue->domain_->handle(), &attributes);
  if (queue->handle_ == nullptr) return call_status(errno, "making a shared receive queue");
  return queue;
}

SharedReceiveQueue::SharedReceiveQueue(Private, std::shared_ptr<ProtectionDomain> domain,
                                       CompletionQueue& completions,
                                       const SharedReceiveQueueOptions& options) noexcept
    : WorkQueue(options.receives_max),
      domain_(std::move(domain)),
      completions_(completions),
      segments_max_(options.segments_max) {}

SharedReceiveQueue::~SharedReceiveQueue() {
  if (handle_ != nullptr) {
    const int error = domain_->driver().destroy_srq(handle_);
    WEFT_ASSERT(detail::has_ended(error), "queue pairs end before their shared receive queue");
  }
  close();
  completions_.release(reserved_);
}

detail::Posted<detail::Receive> SharedReceiveQueue::receive(std::span<const Memory> memory) {
  return detail::post<detail::Receive>(completions_.operations(), *this, {*domain_, memory, segments_max_});
}

int SharedReceiveQueue::post(detail::Operation& operation) noexcept {
  return detail::post_receive(operation, [&](ibv_recv_wr* request, ibv_recv_wr** refused) {
    return ibv_post_srq_recv(handle_, request, refused);
  });
}

Status SharedReceiveQueue::notify_below(std::size_t receives) {
  ibv_srq_attr attributes{};
  attributes.srq_limit = static_cast<std::uint32_t>(receives);
  const int error = domain_->driver().modify_srq(handle_, &attributes, IBV_SRQ_LIMIT);
  return error == 0 ? Status{} : call_status(error, "a limit for a shared receive queue");
}

}  // namespace weft::verbs
