// SPDX-License-Identifier: Apache-2.0
#include "calls/stream/session_streams.hpp"

#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "calls/terms/admission.hpp"
#include "calls/terms/call_status.hpp"

namespace weft::detail {

std::uint32_t SessionStreams::window() const {
  return link_.limits().stream_window;
}

std::optional<Refusal> SessionStreams::refusal() const {
  if (!are_allowed()) {
    return Refusal{RefusalReason::kWrongSchema,
                   {StatusCode::kFailedPrecondition, Layer::kRpc,
                    "the method is a stream, and the caller's build knows none"}};
  }
  if (served_ < link_.limits().streams_max) return std::nullopt;
  return Refusal{RefusalReason::kOverStreams,
                 exhausted("the connection has as many streams open as it may (RpcLimits::streams_max)")};
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

bool SessionStreams::has_share_for(std::uint64_t cost) const {
  return held_ + cost <= link_.limits().connection_memory_max &&
         leaves_others_a_share(held_, cost, memory().free());
}

void SessionStreams::wake_rest(Ready* node) noexcept {
  SessionStreams& streams = *static_cast<SessionStreams*>(node);
  if (streams.output().has_room_for_items()) streams.wake_writers();
}

// However many writers wait, room is offered to a bounded number of them: a writer that finds none waits
// behind the others again, and on_drained() follows.
void SessionStreams::wake_writers() {
  constexpr int kAtOnce = 16;
  for (int woken = 0; woken < kAtOnce && !waiting_.empty(); ++woken) waiting_.pop_front().wake_writer();
  if (!waiting_.empty() && !is_scheduled()) link_.loop().schedule(*this);
}

Status misplaced_item(std::string_view why) {
  return {StatusCode::kInvalidArgument, Layer::kWire,
          [&] { return std::string{"the peer sent a bad frame: "}.append(why); },
          static_cast<std::int32_t>(wire::FrameFault::kMisplacedItem), Retry::kReconnect};
}

}  // namespace weft::detail
