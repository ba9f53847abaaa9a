// SPDX-License-Identifier: Apache-2.0
#include "calls/call/standing_end.hpp"

#include <utility>

#include "calls/call/exchange_table.hpp"
#include "calls/sending/session_link.hpp"

namespace weft::detail {

StandingEnd::StandingEnd(SessionLink& link, ExchangeTable& table, std::uint64_t position, Status why,
                         std::unique_ptr<StandingEnd>&& before) noexcept
    : Ready(&run),
      link_(link),
      table_(table),
      position_(position),
      why_(std::move(why)),
      before_(std::move(before)) {
  if (before_ != nullptr) before_->unlink();
}

const Status* StandingEnd::of(std::uint64_t position) const noexcept {
  const Status* const told = before_ != nullptr ? before_->of(position) : nullptr;
  return told != nullptr || position < position_ ? told : &why_;
}

void StandingEnd::put_off() noexcept {
  link_.loop().turn_time().put_off(*this);
}

void StandingEnd::end_part() noexcept {
  std::size_t left = kCallsEndedAtOnce;
  const auto end = [this](Exchange& exchange, std::uint64_t begins) { exchange.on_lost(*of(begins), true); };
  if (!table_.take_some(position_, slot_, left, end)) put_off();
}

void StandingEnd::run(Ready* node) noexcept {
  auto& self = *static_cast<StandingEnd*>(node);
  self.end_part();
  self.link_.notify_room();
}

}  // namespace weft::detail
