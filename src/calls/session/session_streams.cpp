// SPDX-License-Identifier: Apache-2.0
#include "calls/session/session_streams.hpp"

#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "calls/session/session.hpp"
#include "calls/terms/admission.hpp"
#include "calls/terms/call_status.hpp"

namespace weft::detail {

std::uint32_t SessionStreams::window() const {
  return session_.limits().stream_window;
}

std::optional<Refusal> SessionStreams::refusal() const {
  if (!are_allowed()) {
    return Refusal{RefusalReason::kWrongSchema,
                   {StatusCode::kFailedPrecondition, Layer::kRpc,
                    "the method is a stream, and the caller's build knows none"}};
  }
  if (served_ < session_.limits().streams_max) return std::nullopt;
  return Refusal{RefusalReason::kOverStreams,
                 exhausted("the connection has as many streams open as it may (RpcLimits::streams_max)")};
}

StreamSide* SessionStreams::find(std::uint64_t id, bool of_answer, std::string_view what,
                                 Status& breach) const {
  StreamSide* stream = nullptr;
  if (of_answer) {
    Exchange* const exchange = session_.calls_out().table().find(id);
    if (exchange == nullptr) return nullptr;
    stream = exchange->stream();
  } else {
    ServedCall* const call = session_.calls_in().find(id);
    if (call == nullptr || call->answered()) return nullptr;
    stream = call->stream().get();
  }
  if (stream == nullptr) breach = misplaced_item(what);
  return stream;
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

Status SessionStreams::on_items(std::span<const Frame> items, const ChunkRef& chunk) {
  if (begun_ != 0) release_begun();
  const wire::ItemView first{items.front().header};
  Status breach;
  StreamSide* const stream = find(first.id(), first.of_answer(), "an item for a call of one answer", breach);
  return stream != nullptr ? stream->on_items(items, chunk) : breach;
}

Status SessionStreams::on_credit(const wire::FrameHeader& header) {
  const wire::CreditView credit{header};
  Status breach;
  StreamSide* const stream =
      find(credit.id(), credit.of_answer(), "a credit for a call of one answer", breach);
  return stream != nullptr ? stream->on_credit(header) : breach;
}

// Charges the arrived part of a large item, not the size in its header.
bool SessionStreams::wants_item(wire::ItemView item, std::size_t arrived) {
  Status breach;
  StreamSide* const stream = find(item.id(), item.of_answer(), {}, breach);
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
  if (arriving_ == nullptr) arriving_.reset(new (std::nothrow) ArrivingItems(session_));
  return arriving_.get();
}

// Pieces for a stream that has ended on this side may be on their way, and are dropped.
Result<Landing> SessionStreams::on_piece(wire::PieceView piece) {
  if (arriving_ != nullptr) arriving_->on_nothing();
  Status breach;
  StreamSide* const stream =
      find(piece.id(), piece.of_answer(), "a piece of an item for a call of one answer", breach);
  if (!breach.ok()) return breach;
  if (stream == nullptr || (stream->incoming().arriving() == nullptr && !stream->incoming().are_wanted())) {
    return Landing::skip();
  }
  if (stream->incoming().arriving() == nullptr) return misplaced_piece(piece);
  return arriving_->on_piece(piece, *stream->incoming().arriving());
}

void SessionStreams::release_begun() {
  memory().release(std::exchange(begun_, 0));
}

Loop& SessionStreams::loop() const {
  return session_.loop();
}

LocalBudget& SessionStreams::memory() const {
  return *session_.setup().host.memory;
}

bool SessionStreams::has_share_for(std::uint64_t cost) const {
  return held_ + cost <= session_.limits().connection_memory_max &&
         leaves_others_a_share(held_, cost, memory().free());
}

SessionStreams::Rest::Rest(SessionStreams& its_streams) noexcept
    : Ready([](Ready* node) noexcept {
        SessionStreams& its = static_cast<Rest*>(node)->streams;
        if (its.output().has_room_for_items()) its.wake_writers();
      }),
      streams(its_streams) {}

// However many writers wait, room is offered to a bounded number of them: a writer that finds none waits
// behind the others again, and on_drained() follows.
void SessionStreams::wake_writers() {
  constexpr int kAtOnce = 16;
  for (int woken = 0; woken < kAtOnce && !waiting_.empty(); ++woken) waiting_.pop_front().wake_writer();
  if (!waiting_.empty() && !rest_.is_scheduled()) loop().schedule(rest_);
}

Status misplaced_item(std::string_view why) {
  return {StatusCode::kInvalidArgument, Layer::kWire,
          [&] { return std::string{"the peer sent a bad frame: "}.append(why); },
          static_cast<std::int32_t>(wire::FrameFault::kMisplacedItem), Retry::kReconnect};
}

}  // namespace weft::detail
