// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/coro/channel.hpp"

#include "weft/detail/base/status.hpp"

namespace weft::detail {

Status push_to_closed_channel() {
  return Status{StatusCode::kFailedPrecondition, Layer::kRuntime, "push into a closed channel"};
}

Status pop_from_closed_channel() {
  return Status{StatusCode::kOutOfRange, Layer::kRuntime, "the channel is closed and empty"};
}

}  // namespace weft::detail
