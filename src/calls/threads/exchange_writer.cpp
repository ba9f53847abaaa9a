// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/threads/exchange_writer.hpp"

#include <new>

#include "calls/terms/call_status.hpp"
#include "weft/detail/memory/budget.hpp"

namespace weft::detail {

std::byte* ExchangeWriter::begin_item(std::size_t bytes, Attachment* attachment) noexcept {
  if (exchange_.in_child()) return nullptr;
  const StreamTerms& terms = exchange_.terms();
  if (bytes > terms.item_bytes_max) [[unlikely]] {
    exchange_.abandon(over_limit("an item", bytes, terms.item_bytes_max, "the peer's", kRaiseBody));
    return nullptr;
  }
  if (attachment != nullptr && attachment->fault() != RunsFault::kNone) [[unlikely]] {
    exchange_.abandon(check_runs("the attachment of an item", attachment->fault()));
    return nullptr;
  }
  if (attachment != nullptr && attachment->size() > terms.attachment_bytes_max) [[unlikely]] {
    exchange_.abandon(attachment_refusal(attachment->size(), terms.attachment_bytes_max, terms.answers));
    return nullptr;
  }
  small_bytes_ = bytes;
  if (bytes <= kSmallBytes && attachment == nullptr) return small_.data();
  std::byte* const place = large_.add(bytes, terms.memory.get(), attachment);
  if (place == nullptr) exchange_.abandon(Status::of<PutItems::kNoMemory>());
  return place;
}

bool ExchangeWriter::end_item() noexcept {
  using Put = PutItems::Put;
  PutItems& put = exchange_.put();
  const Put outcome = large_.empty() ? put.put(Bytes{small_}.first(small_bytes_)) : put.put(large_);
  large_.clear();
  has_room_ = outcome == Put::kTaken;
  return outcome != Put::kNotTaken;
}

}  // namespace weft::detail
