// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/ucx/operation.hpp"

#include <new>

#include "weft/detail/ucx/library.hpp"

namespace weft::ucx::detail {

void Operation::close() noexcept {
  if (state == OperationState::kPosted || state == OperationState::kCancelRequested) {
    status = UCS_ERR_CANCELED;
  }
  close_step();
}

void Operation::complete(ucs_status_t result) noexcept {
  status = result;
  if (request != nullptr) detail::library.ucp_request_free(std::exchange(request, nullptr));
  complete_step();
}

void Operation::sent(void* /*request*/, ucs_status_t result, void* user_data) {
  static_cast<Operation*>(user_data)->complete(result);
}

void Operation::received_tag(void* /*request*/, ucs_status_t result, const ucp_tag_recv_info_t* info,
                             void* user_data) {
  auto& self = *static_cast<Operation*>(user_data);
  if (info != nullptr) self.outcome.tag = *info;
  self.complete(result);
}

void Operation::received_bytes(void* /*request*/, ucs_status_t result, std::size_t length, void* user_data) {
  auto& self = *static_cast<Operation*>(user_data);
  self.outcome.length = length;
  self.complete(result);
}

void KeyCore::release(void* core) noexcept {
  auto& self = *static_cast<KeyCore*>(core);
  if (--self.references > 0) return;
  if (self.handle != nullptr) detail::library.ucp_rkey_destroy(self.handle);
  delete &self;
}

void OperationPool::end_keys() noexcept {
  while (!keys_.empty()) detail::library.ucp_rkey_destroy(std::exchange(keys_.pop_front().handle, nullptr));
}

Operation* OperationPool::grow(std::size_t limit) noexcept {
  if (slabs_.size() >= limit / kSlab + (limit % kSlab != 0 ? 1 : 0)) return nullptr;
  try {
    slabs_.reserve(slabs_.size() + 1);
    slabs_.push_back(std::make_unique<Operation[]>(kSlab));
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  for (std::size_t i = kSlab; i > 0; --i) {
    Operation& operation = slabs_.back()[i - 1];
    operation.pool = this;
    operation.next_free = free_;
    free_ = &operation;
  }
  return free_;
}

void OperationPool::close() noexcept {
  ++out_;  // keeps the pool while its records end
  closed_ = true;
  for (const auto& slab : slabs_) {
    for (std::size_t i = 0; i < kSlab; ++i) slab[i].close();
  }
  if (--out_ == 0) delete this;
}

}  // namespace weft::ucx::detail
