// SPDX-License-Identifier: Apache-2.0
#include "calls/landing/arriving_attachment.hpp"

#include "calls/landing/arriving_calls.hpp"

namespace weft::detail {

void ArrivingAttachment::on_timer() {
  calls_.on_time(*this);
}

}  // namespace weft::detail
