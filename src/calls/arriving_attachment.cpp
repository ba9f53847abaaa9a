// SPDX-License-Identifier: Apache-2.0
#include "calls/arriving_attachment.hpp"

#include "calls/arriving_calls.hpp"

namespace weft::detail {

void ArrivingAttachment::on_timer() {
  calls_.on_time(*this);
}

}  // namespace weft::detail
