// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/serve/served_exchange.hpp"

#include "weft/detail/calls/gate/call_envelope.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/runtime/mailbox.hpp"

namespace weft::detail {

ServedExchange::ServedExchange(Loop& loop, StreamSide& side) noexcept
    : ExchangePump(side, *this), loop_(loop), side_(side) {
  look();
}

void ServedExchange::post() noexcept {
  loop_.mailbox()->post(static_cast<Posted&>(*this));
}

void DropExchange::operator()(ServedExchange* exchange) const noexcept {
  delete exchange;
}

}  // namespace weft::detail
