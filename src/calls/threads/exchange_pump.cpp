// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/threads/exchange_pump.hpp"

#include <cstring>
#include <utility>

#include "calls/stream/item_sink.hpp"
#include "weft/detail/calls/threads/stream_exchange.hpp"
#include "weft/detail/wire/heads.hpp"

namespace weft::detail {

ExchangePump::~ExchangePump() {
  if (side_.reader() == &reader_) side_.set_reader(nullptr);
  if (side_.writer() == &writer_) side_.set_writer(nullptr);
}

void ExchangePump::look() noexcept {
  update_side();
  const StreamExchange::Asked asked = exchange_.take_asked();
  if (!asked.abandoned.ok() && !std::exchange(gave_up_, true)) end_stream(asked.abandoned);
  if (!opened_ && side_.place().is_open()) {
    opened_ = true;
    exchange_.open(StreamTerms::of(side_.place()));
  }
  if (asked.discards && !std::exchange(discarded_, true)) side_.took(side_.incoming().discard());
  if (asked.taken != 0) side_.took(side_.incoming().release(asked.taken));
  receive();
  send();
  listen();
}

void ExchangePump::receive() noexcept {
  IncomingItems& items = side_.incoming();
  if (items.has_item() && !exchange_.arrived().deliver(items)) {
    side_.fail_reading(Status::of<kNoMemoryForItem>());
  } else if (!items.have_ended()) {
    return;
  }
  if (!side_.failure().ok() && side_.writing() == StreamSide::Writing::kOver) {
    exchange_.fail(side_.failure(), items.are_dropped());
  } else {
    exchange_.arrived().end(side_.failure(), items.are_dropped());
  }
  // The peer would wait for credit without end; this cancels the call there.
  if (const Status lost = side_.loss(); !lost.ok() && !std::exchange(gave_up_, true)) end_stream(lost);
}

// An item with an attachment that is still being sent counts as not sent: flush() waits for it.
void ExchangePump::send() noexcept {
  if (side_.sends_attachment()) return;
  bool ends = false;
  std::uint64_t sent = std::exchange(attached_cost_, 0);
  do {
    while (!hand_.empty()) {
      if (!send_item(sent)) return exchange_.put().sent(sent);
    }
    hand_ = exchange_.put().take(std::exchange(sent, 0), ends);
  } while (!hand_.empty());
  if (ends) return side_.end_writing();
  if (side_.writing() == StreamSide::Writing::kOver) exchange_.put().end(side_.failure());
}

bool ExchangePump::send_item(std::uint64_t& sent) noexcept {
  const StreamSide::Writing writing = side_.writing();
  if (writing == StreamSide::Writing::kWait) return false;
  const bool ready = writing == StreamSide::Writing::kReady;
  const Bytes item = hand_.front();
  Attachment* const attachment = hand_.attachment();
  const std::uint64_t attachment_bytes = attachment != nullptr ? attachment->size() : 0;
  std::byte* const body =
      ready ? side_.begin_item(item.size(), attachment_bytes != 0 ? attachment : nullptr) : nullptr;
  if (body != nullptr) {
    if (!item.empty()) std::memcpy(body, item.data(), item.size());
    side_.end_item();
  }
  if (body == nullptr || (attachment_bytes != 0 && !side_.send_attachment(std::move(*attachment)))) {
    if (ready && !std::exchange(gave_up_, true)) end_stream(Status{side_.failure()});
    exchange_.put().end(side_.failure());
    hand_.clear();
    return false;
  }
  const std::uint64_t cost = wire::item_cost(static_cast<std::uint32_t>(item.size()), attachment_bytes);
  (side_.sends_attachment() ? attached_cost_ : sent) += cost;
  hand_.pop();
  return true;
}

// Even when no item is expected any more, the reader stays set, so that it is scheduled when the stream ends.
void ExchangePump::listen() noexcept {
  if (side_.reader() != &reader_ && !reader_.is_scheduled()) side_.set_reader(&reader_);
  const bool has_more = !opened_ || !hand_.empty();
  if (side_.sends_attachment() || (has_more && side_.writing() == StreamSide::Writing::kWait)) {
    if (side_.writer() != &writer_ && !writer_.is_scheduled()) side_.set_writer(&writer_);
  } else if (side_.writer() == &writer_) {
    side_.set_writer(nullptr);
  }
}

}  // namespace weft::detail
