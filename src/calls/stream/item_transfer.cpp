// SPDX-License-Identifier: Apache-2.0
#include "calls/stream/item_transfer.hpp"

#include <utility>

#include "calls/sending/session_link.hpp"
#include "calls/stream/session_streams.hpp"
#include "weft/detail/calls/stream/stream_side.hpp"

namespace weft::detail {

namespace {

constexpr FixedFailure kNoMemoryForAttachment{StatusCode::kResourceExhausted, Layer::kRpc, Retry::kReconnect,
                                              "out of memory for the attachment of a stream's item"};

}  // namespace

ItemTransfer::ItemTransfer(Attachment attachment, StreamSide& side) noexcept
    : attachment_(std::move(attachment)), side_(&side) {
  OutgoingTransfer::begin(attachment_.view());
  set_of_item();
}

// An attachment no longer than a piece is queued at once, so that the writer does not wait for it.
bool ItemTransfer::begin(SessionStreams& streams) noexcept {
  SessionLink& link = streams.link();
  const StreamPlace& place = side_->place();
  link_ = &link;
  belong_to(place.id, place.answers);
  if (link.transfers().splits(bytes_left())) {
    link.transfers().add(*this, link.loop());
    return true;
  }
  if (queue_whole(place)) {
    on_queued();
    return true;
  }
  // Its piece has begun, so the peer would take any following bytes for the rest of it.
  link.close(Status::of<kNoMemoryForAttachment>());
  side_ = nullptr;
  queued_ = true;
  if (returned_ || give_up()) delete this;
  return false;
}

bool ItemTransfer::queue_whole(const StreamPlace& place) noexcept {
  SessionLink& link = *link_;
  const wire::PieceHead head{.id = place.id,
                             .offset = 0,
                             .bytes = bytes_left(),
                             .of_answer = place.answers,
                             .last = true,
                             .of_item = true};
  FrameOutput& output = link.output();
  if (output.begin(head.header()) == nullptr) return false;
  output.end();
  Outbox& outbox = link.connection().outbox();
  if (is_copied_by(outbox)) static_cast<void>(output.reserve(bytes_left()));
  return queue(outbox, bytes_left());
}

void ItemTransfer::leave_side() noexcept {
  if (side_ != nullptr && linked()) link_->transfers().remove(*this);
  side_ = nullptr;
}

void ItemTransfer::stop(Loop& loop) noexcept {
  leave_side();
  queued_ = true;
  if (returned_ || give_up()) destroy_late(loop);
}

void ItemTransfer::on_queued() noexcept {
  queued_ = true;
  StreamSide* const side = std::exchange(side_, nullptr);
  const bool returned = returned_;
  if (side != nullptr) side->on_attachment_queued();
  if (returned) delete this;
}

// All of it may have been copied when it was queued.
void ItemTransfer::on_returned(bool) noexcept {
  returned_ = true;
  if (queued_) delete this;
}

}  // namespace weft::detail
