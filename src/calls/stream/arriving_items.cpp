// SPDX-License-Identifier: Apache-2.0
#include "calls/stream/arriving_items.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "calls/sending/session_link.hpp"
#include "calls/stream/session_streams.hpp"
#include "calls/terms/call_status.hpp"
#include "weft/detail/calls/stream/stream_side.hpp"

namespace weft::detail {

void DropArrivingItem::operator()(ArrivingItem* item) const noexcept {
  if (ArrivingItems* const items = item->items()) return items->drop(item);
  delete item;
}

// Items that are left belong to streams which do not know yet that their connection is gone.
ArrivingItems::~ArrivingItems() {
  unwanted_.reset();
  while (!arriving_.empty()) arriving_.pop_front().forget_items();
}

SessionLink& ArrivingItems::link() const noexcept {
  return streams_.link();
}

OwnedArrivingItem ArrivingItems::begin(StreamSide& side, const Frame& item) noexcept {
  const wire::ItemView view{item.header};
  if (item.body.size() != item.header.body_bytes) return nullptr;  // there was no memory for the body
  if (announced_ + view.attachment_bytes() > link().limits().connection_memory_max) return nullptr;
  LocalBudget& budget = streams_.memory();
  const std::size_t charge = sizeof(ArrivingItem) + item.body.size();
  if (!budget.try_reserve(charge)) return nullptr;
  try {
    KeptBody body{budget, charge};
    body.copy(item.body);
    Result<Buffer> memory =
        link().connection().landing_memory(static_cast<std::size_t>(view.attachment_bytes()));
    if (!memory.ok()) return nullptr;
    ArrivingBuffer arriving{*std::move(memory), budget.shared()};
    OwnedArrivingItem made{new ArrivingItem(*this, side, view, std::move(body), std::move(arriving))};
    announced_ += view.attachment_bytes();
    arriving_.push_back(*made);
    return made;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

Result<Landing> ArrivingItems::on_piece(wire::PieceView piece, ArrivingItem& item) {
  if (!item.expects(piece)) return misplaced_piece(piece);
  landing_ = &item;
  landing_bytes_ = static_cast<std::size_t>(piece.bytes());
  return item.place(landing_bytes_);
}

void ArrivingItems::on_nothing() noexcept {
  landing_ = nullptr;
  unwanted_.reset();
}

void ArrivingItems::on_progress(std::uint64_t left) noexcept {
  if (landing_ == nullptr) return;
  if (landing_->side() != nullptr) {
    charge(*landing_, landing_->received() + landing_bytes_ - static_cast<std::size_t>(left));
  }
  if (unwanted_ == nullptr) return;
  // The rest of a piece that is unwanted, or has no room, is read and dropped.
  landing_ = nullptr;
  link().connection().abandon_landing();
  unwanted_.reset();
}

void ArrivingItems::on_piece_end() noexcept {
  ArrivingItem* const item = std::exchange(landing_, nullptr);
  if (unwanted_ != nullptr) return unwanted_.reset();
  if (item == nullptr) return;
  item->landed(landing_bytes_);
  if (charge(*item, item->received()) && item->is_whole()) item->side()->on_attachment_whole();
}

void ArrivingItems::drop(ArrivingItem* item) noexcept {
  item->forget_side();
  if (item == landing_) {
    unwanted_.reset(item);
  } else {
    delete item;
  }
}

void ArrivingItems::leave(const ArrivingItem& item) noexcept {
  announced_ -= item.bytes();
  count_held(item, item.charged(), 0);
}

void ArrivingItems::count_held(const ArrivingItem& item, std::size_t before, std::size_t now) noexcept {
  if (item.is_counted()) streams_.count_held(before, now);
}

bool ArrivingItems::charge(ArrivingItem& item, std::size_t arrived) noexcept {
  const std::size_t before = item.charged();
  const std::size_t more = arrived - std::min(arrived, before);
  if ((!item.is_counted() || streams_.may_hold(more)) && item.charge(arrived)) {
    count_held(item, before, item.charged());
    return true;
  }
  item.side()->fail_reading(Status::of<kNoMemoryForItem>());
  return false;
}

}  // namespace weft::detail
