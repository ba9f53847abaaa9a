// SPDX-License-Identifier: Apache-2.0
#include "calls/stream/arriving_item.hpp"

#include <utility>

#include "calls/sending/session_link.hpp"
#include "calls/stream/arriving_items.hpp"
#include "calls/stream/session_streams.hpp"
#include "weft/detail/calls/stream/stream_side.hpp"

namespace weft::detail {

namespace {

constexpr FixedFailure kItemStoodStill{
    StatusCode::kUnavailable, Layer::kRpc, Retry::kBackoff,
    "the attachment of a stream's item did not get on for this side's frame_timeout"};

}  // namespace

ArrivingItem::ArrivingItem(ArrivingItems& items, StreamSide& side, wire::ItemView item, KeptBody body,
                           ArrivingBuffer memory) noexcept
    : items_(&items),
      side_(&side),
      body_(std::move(body)),
      memory_(std::move(memory)),
      bytes_(memory_.size()),
      cost_(item.cost()),
      is_counted_(side.place().sink->counts(side.place().answers)) {
  getting_on_.begin(items_->link().connection().stats().bytes_received);
  arm();
}

ArrivingItem::~ArrivingItem() {
  if (items_ != nullptr) items_->leave(*this);
}

void ArrivingItem::forget_side() noexcept {
  side_ = nullptr;
  if (armed()) items_->link().loop().disarm(*this);
}

void ArrivingItem::forget_items() noexcept {
  if (armed()) items_->link().loop().disarm(*this);
  items_ = nullptr;
}

Result<Buffer> ArrivingItem::take() {
  items_->count_taken(*this);
  return memory_.take();
}

void ArrivingItem::arm() noexcept {
  const SessionLink& link = items_->link();
  link.loop().arm(*this, Deadline::after(link.loop().now(), link.limits().frame_timeout).at());
}

// After this side was blocked, the pieces may have arrived already, and are read first.
void ArrivingItem::on_timer() {
  SessionLink& link = items_->link();
  Loop& loop = link.loop();
  if (link.connection().is_paused()) return arm();
  const TimePoint fair = loop.turn_time().absence().judge_from(link.limits().frame_timeout);
  if (fair > loop.now()) return loop.arm(*this, fair);
  if (!link.connection().has_looked(at())) return loop.arm(*this, at());
  if (getting_on_.look(received_, bytes(), link.connection().stats().bytes_received)) return arm();
  const Status why = Status::of<kItemStoodStill>();
  link.count_refusal(RefusalReason::kAttachmentStalled, why);
  side_->fail_reading(why);
}

}  // namespace weft::detail
