// SPDX-License-Identifier: Apache-2.0
#include "calls/stream/session_streams.hpp"

#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "calls/terms/call_status.hpp"

namespace weft::detail {

std::optional<Refusal> SessionStreams::refusal() const {
  if (are_allowed()) return ItemSink::refusal();
  return Refusal{RefusalReason::kWrongSchema,
                 {StatusCode::kFailedPrecondition, Layer::kRpc,
                  "the method is a stream, and the caller's build knows none"}};
}

std::byte* SessionStreams::begin_attached_item(const StreamPlace& place, std::uint32_t bytes,
                                               std::uint64_t attachment_bytes) noexcept {
  const wire::ItemHead head{
      .body_bytes = bytes, .id = place.id, .of_answer = place.answers, .attachment_bytes = attachment_bytes};
  return output().begin(head.header());
}

void SessionStreams::end_items(const StreamPlace& place) noexcept {
  output().send(wire::ItemHead{.id = place.id, .of_answer = place.answers, .last = true}.header());
}

void SessionStreams::send_credit(const StreamPlace& place, std::uint64_t granted) noexcept {
  output().send(wire::CreditHead{.id = place.id, .granted = granted, .of_answer = place.answers}.header());
}

std::span<const Frame> SessionStreams::items_at_front_of(std::span<const Frame> frames) {
  const wire::FrameHeader& first = frames.front().header;
  std::size_t count = 1;
  while (count < frames.size() && frames[count].header.type == first.type &&
         frames[count].header.id == first.id && frames[count].header.flags == first.flags) {
    ++count;
  }
  return frames.first(count);
}

Status SessionStreams::on_items(StreamSide* stream, std::span<const Frame> items, const ChunkRef& chunk) {
  if (begun_ != 0) release_begun();
  return stream != nullptr ? stream->on_items(items, chunk) : Status{};
}

Status SessionStreams::on_credit(StreamSide* stream, wire::CreditView credit) {
  if (stream == nullptr || stream->on_credit(credit.granted())) return {};
  return misplaced_item("a credit that grants no more than the one before");
}

// Charges the arrived part of a large item, not the size in its header.
bool SessionStreams::wants_item(StreamSide* stream, std::size_t arrived) {
  if (stream == nullptr || !stream->incoming().are_wanted()) return false;
  const std::size_t more = arrived - std::min(arrived, begun_);
  if (memory().try_reserve(more)) {
    begun_ += more;
    return true;
  }
  release_begun();
  stream->fail_reading(Status::of<kNoMemoryForItem>());
  return false;
}

ArrivingItems* SessionStreams::make_arriving() noexcept {
  if (arriving_ == nullptr) arriving_.reset(new (std::nothrow) ArrivingItems(*this));
  return arriving_.get();
}

// Pieces for a stream that has ended on this side may be on their way, and are dropped.
Result<Landing> SessionStreams::on_piece(StreamSide* stream, wire::PieceView piece) {
  if (stream == nullptr || (stream->incoming().arriving() == nullptr && !stream->incoming().are_wanted())) {
    return Landing::skip();
  }
  if (stream->incoming().arriving() == nullptr) return misplaced_piece(piece);
  return arriving_->on_piece(piece, *stream->incoming().arriving());
}

void SessionStreams::release_begun() {
  memory().release(std::exchange(begun_, 0));
}

Status misplaced_item(std::string_view why) {
  return {StatusCode::kInvalidArgument, Layer::kWire,
          [&] { return std::string{"the peer sent a bad frame: "}.append(why); },
          static_cast<std::int32_t>(wire::FrameFault::kMisplacedItem), Retry::kReconnect};
}

}  // namespace weft::detail
