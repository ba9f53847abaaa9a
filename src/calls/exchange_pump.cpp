// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/exchange_pump.hpp"

#include <cstring>
#include <utility>

#include "weft/detail/calls/stream_exchange.hpp"
#include "weft/detail/wire/heads.hpp"

namespace weft::detail {

ExchangePump::~ExchangePump() {
  if (side_.reader() == &reader_) side_.set_reader(nullptr);
  if (side_.writer() == &writer_) side_.set_writer(nullptr);
}

void ExchangePump::look() noexcept {
  settle();
  const StreamExchange::Asked asked = exchange_.take_asked();
  if (!asked.abandoned.ok() && !std::exchange(gave_up_, true)) end_stream(asked.abandoned);
  if (!opened_ && side_.is_open()) {
    opened_ = true;
    exchange_.open(side_.terms());
  }
  if (asked.discards && !std::exchange(discarded_, true)) side_.discard();
  if (asked.taken != 0) side_.settle_items(asked.taken);
  receive();
  send();
  listen();
}

void ExchangePump::receive() noexcept {
  IncomingItems& items = side_.incoming();
  if (items.has_item() && !exchange_.arrived().deliver(items)) {
    side_.fail_for_memory();
  } else if (!items.have_ended()) {
    return;
  }
  if (!side_.failure().ok() && side_.writing() == StreamSide::Writing::kOver) {
    exchange_.fail(side_.failure(), items.are_dropped());
  } else {
    exchange_.arrived().end(side_.failure(), items.are_dropped());
  }
}

void ExchangePump::send() noexcept {
  bool ends = false;
  std::uint64_t sent = 0;
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
  const Bytes item = hand_.front();
  std::byte* const body = writing == StreamSide::Writing::kReady ? side_.begin_item(item.size()) : nullptr;
  if (body == nullptr) {
    if (writing == StreamSide::Writing::kReady && !std::exchange(gave_up_, true)) {
      end_stream(Status{side_.failure()});
    }
    exchange_.put().end(side_.failure());
    hand_.clear();
    return false;
  }
  if (!item.empty()) std::memcpy(body, item.data(), item.size());
  side_.end_item();
  sent += wire::item_cost(static_cast<std::uint32_t>(item.size()));
  hand_.pop();
  return true;
}

// When nobody is to be told of items any more, the reader's place is told still when the stream is over.
void ExchangePump::listen() noexcept {
  if (side_.reader() != &reader_ && !reader_.is_scheduled()) side_.set_reader(&reader_);
  const bool waits = side_.writing() == StreamSide::Writing::kWait && (!opened_ || !hand_.empty());
  if (waits) {
    if (side_.writer() != &writer_ && !writer_.is_scheduled()) side_.set_writer(&writer_);
  } else if (side_.writer() == &writer_) {
    side_.set_writer(nullptr);
  }
}

}  // namespace weft::detail
