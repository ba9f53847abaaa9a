// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/terms/received_attachment.hpp"

#include <cstring>

namespace weft::detail {

Buffer ReceivedAttachment::take() {
  if (empty()) return {};
  Buffer copy = Buffer::short_block(bytes_.size(), budget_->shared());
  std::memcpy(copy.data(), bytes_.data(), bytes_.size());
  budget_ = nullptr;
  return copy;
}

}  // namespace weft::detail
