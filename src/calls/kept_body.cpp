// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/kept_body.hpp"

#include <cstring>

#include "weft/coro/task.hpp"

namespace weft::detail {

void KeptBody::copy(Bytes bytes) {
  if (bytes.empty()) return;
  copied_ = {static_cast<std::byte*>(detail::allocate_frame(bytes.size())), bytes.size()};
  std::memcpy(copied_.data(), bytes.data(), bytes.size());
  bytes_ = copied_;
}

KeptBody::~KeptBody() {
  chunk_.reset();
  if (!copied_.empty()) detail::release_frame(copied_.data(), copied_.size());
  if (charge_ != 0) budget_->release(charge_);
}

}  // namespace weft::detail
