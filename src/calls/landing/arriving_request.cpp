// SPDX-License-Identifier: Apache-2.0
#include "calls/landing/arriving_request.hpp"

#include <utility>

#include "weft/detail/base/assert.hpp"

namespace weft::detail {

bool ArrivingRequest::charge_body(std::uint64_t id, std::size_t bytes) {
  if (bytes <= body_charged_) return true;
  id_ = id;
  refusal_ = admission_.refuse_arriving(bytes, body_charged_);
  if (!refusal_ && !process_.try_reserve(bytes - body_charged_)) refusal_ = over_process_memory();
  if (refusal_) {
    release_body();
    return false;
  }
  body_charged_ = bytes;
  return true;
}

void ArrivingRequest::release_body() {
  process_.release(std::exchange(body_charged_, 0));
}

Refusal ArrivingRequest::take_refusal() {
  WEFT_ASSERT(refusal_.has_value(), "what is refused or skipped has a reason");
  Refusal why = std::move(*refusal_);
  refusal_.reset();
  return why;
}

MutableBytes ArrivingRequest::begin_attachment(std::uint64_t id, Buffer memory) {
  id_ = id;
  attachment_ = ArrivingBuffer{std::move(memory), process_.shared()};
  return attachment_.mutable_bytes();
}

bool ArrivingRequest::charge_attachment(std::uint64_t left) {
  if (attachment_.empty()) return true;
  const std::size_t arrived = attachment_.size() - left;
  refusal_ = admission_.refuse_arriving(arrived, attachment_.charged());
  if (!refusal_ && !attachment_.charge(arrived)) refusal_ = over_process_memory();
  if (refusal_) attachment_ = {};
  return !refusal_;
}

Result<Buffer> ArrivingRequest::take_attachment() {
  if (!charge_attachment(0)) return Buffer{};
  return std::exchange(attachment_, {}).take();
}

void ArrivingRequest::drop() {
  attachment_ = {};
  if (has_body()) release_body();
}

}  // namespace weft::detail
