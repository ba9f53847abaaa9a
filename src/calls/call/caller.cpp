// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/call/caller.hpp"

#include "weft/detail/calls/call/call_target.hpp"

namespace weft {

Loop& Caller::loop() const {
  return target_->loop();
}

}  // namespace weft
