// SPDX-License-Identifier: Apache-2.0
#include "calls/session/requests_set_aside.hpp"

#include <new>
#include <utility>

#include "weft/detail/base/assert.hpp"

namespace weft::detail {

namespace {

std::size_t charge_of(const Frame& request) noexcept {
  return sizeof(RequestSetAside) + request.header.body_bytes;
}

}  // namespace

RequestSetAside::RequestSetAside(const Frame& frame, KeptBody kept, TimePoint since) noexcept
    : kept_(std::move(kept)), frame_(frame), since_(since) {
  frame_.body = kept_.bytes();
}

RequestsSetAside::~RequestsSetAside() {
  while (take_first() != nullptr) {
  }
}

bool RequestsSetAside::add(const Frame& frame, TimePoint now) noexcept {
  WEFT_ASSERT(frame.body.size() == frame.header.body_bytes, "a request without its body is refused");
  if (table_.size() >= kMost || table_.find(frame.header.id) != nullptr) return false;
  if (!memory_.try_reserve(charge_of(frame))) return false;
  try {
    KeptBody kept;
    kept.copy(frame.body);
    table_.reserve_one();
    auto request = std::make_unique<RequestSetAside>(frame, std::move(kept), now);
    table_.insert(*request);
    in_order_.push_back(*request.release());
    return true;
  } catch (const std::bad_alloc&) {
    memory_.release(charge_of(frame));
    return false;
  }
}

std::unique_ptr<RequestSetAside> RequestsSetAside::take_first() noexcept {
  return in_order_.empty() ? nullptr : take(in_order_.front().id());
}

std::unique_ptr<RequestSetAside> RequestsSetAside::take(std::uint64_t id) noexcept {
  RequestSetAside* const request = table_.find(id);
  if (request == nullptr) return nullptr;
  table_.erase(*request);
  request->unlink();
  memory_.release(charge_of(request->frame()));
  return std::unique_ptr<RequestSetAside>{request};
}

bool RequestsSetAside::want_answer_rate(std::uint64_t id, std::uint64_t bytes_per_second) noexcept {
  RequestSetAside* const request = table_.find(id);
  if (request != nullptr) request->want_answer_rate(bytes_per_second);
  return request != nullptr;
}

}  // namespace weft::detail
