// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/threads/exchange_reader.hpp"

#include <utility>

#include "weft/detail/wire/heads.hpp"

namespace weft::detail {

void ExchangeReader::take_shown() noexcept {
  if (!std::exchange(shows_, false)) return;
  taken_ += shown_;
  items_.pop();
}

void ExchangeReader::fail(const Status& why) noexcept {
  take_shown();
  exchange_.fail_reading(why);
}

std::optional<Bytes> ExchangeReader::next(bool waits) noexcept {
  take_shown();
  ArrivedItems& arrived = exchange_.arrived();
  if (items_.empty() || taken_ > tells_at_) tells_at_ = arrived.take(std::exchange(taken_, 0), items_, waits);
  if (arrived.are_dropped()) [[unlikely]] {
    items_.clear();
  }
  if (items_.empty()) return std::nullopt;
  shows_ = true;
  const Bytes item = items_.front();
  const Attachment* const attachment = items_.attachment();
  shown_ = wire::item_cost(static_cast<std::uint32_t>(item.size()),
                           attachment != nullptr ? attachment->size() : 0);
  return item;
}

bool ExchangeReader::would_wait() const noexcept {
  const bool has_more = !items_.empty() && !(shows_ && items_.has_one());
  return !has_more && exchange_.arrived().would_wait();
}

}  // namespace weft::detail
