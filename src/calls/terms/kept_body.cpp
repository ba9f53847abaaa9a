// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/terms/kept_body.hpp"

#include <cstring>

#include "weft/detail/calls/terms/chunk_keeping.hpp"
#include "weft/detail/coro/task.hpp"

namespace weft::detail {

void KeptBody::copy(Bytes bytes) {
  if (bytes.empty()) return;
  auto* const copied = static_cast<std::byte*>(detail::allocate_frame(bytes.size()));
  std::memcpy(copied, bytes.data(), bytes.size());
  bytes_ = {copied, bytes.size()};
}

void KeptBody::keep(Bytes bytes, const ChunkRef* received_in) {
  if (received_in != nullptr && *received_in && may_be_looked_at_in(bytes, **received_in)) {
    hold(*received_in, bytes);
  } else {
    copy(bytes);
  }
}

KeptBody::~KeptBody() {
  if (!chunk_ && !bytes_.empty()) {
    detail::release_frame(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }
  chunk_.reset();
  if (charge_ != 0) budget_->release(charge_);
}

}  // namespace weft::detail
