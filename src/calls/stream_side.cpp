// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/stream_side.hpp"

#include <utility>

#include "calls/call_status.hpp"
#include "calls/frame_output.hpp"
#include "calls/session_streams.hpp"
#include "weft/detail/wire/heads.hpp"
#include "weft/runtime/loop.hpp"

namespace weft::detail {

namespace {

constexpr FixedFailure kNoMemoryForItem{
    StatusCode::kResourceExhausted, Layer::kRpc, Retry::kBackoff,
    "out of memory for the items of a stream that were not read yet (process_memory_max)"};
constexpr FixedFailure kNoMemoryToSend{
    StatusCode::kResourceExhausted, Layer::kRpc, Retry::kBackoff,
    "what waits to be sent fills the memory, or this connection's share of it (process_memory_max)"};
constexpr FixedFailure kClosed{StatusCode::kUnavailable, Layer::kRpc, Retry::kReconnect,
                               "the connection is being closed"};

void wake(Loop& loop, Ready*& waiter) noexcept {
  if (waiter != nullptr) loop.schedule(*std::exchange(waiter, nullptr));
}

}  // namespace

StreamSide::~StreamSide() {
  if (streams_ != nullptr) streams_->leave(answers_, counted_);
}

void StreamSide::open(SessionStreams& streams, std::uint64_t id, bool answers) noexcept {
  streams_ = &streams;
  if (answers) streams.enter();
  id_ = id;
  answers_ = answers;
  sent_ = SendWindow{streams.peer_window()};
  incoming_.open(streams.window());
  if (own_items_ != OwnItems::kEnded) return;
  own_items_ = OwnItems::kOpen;
  end_writing();
}

StreamTerms StreamSide::terms() const noexcept {
  return {streams_->memory().shared(), incoming_.window(), streams_->item_bytes_max(), answers_};
}

// A side that began its call is told of the end when its connection may be gone already.
void StreamSide::close(const Status& why, bool drops) noexcept {
  if (std::exchange(closed_, true)) return;
  drops ? incoming_.drop() : incoming_.end();
  own_items_ = OwnItems::kOver;
  if (failure_.ok()) failure_ = why;
  unlink();
  if (SessionStreams* const streams = std::exchange(streams_, nullptr)) streams->leave(answers_, counted_);
  wake(loop_, reader_);
  wake_writer();
}

StreamSide::Writing StreamSide::writing() noexcept {
  if (own_items_ != OwnItems::kOpen) return Writing::kOver;
  const bool ready = streams_ != nullptr && sent_.is_open() && !loop_.turn_time().is_old() &&
                     streams_->output().has_room_for_items();
  return ready ? Writing::kReady : Writing::kWait;
}

std::byte* StreamSide::begin_item(std::size_t bytes) noexcept {
  if (bytes > streams_->item_bytes_max()) [[unlikely]] {
    fail_writing(over_limit("an item", bytes, streams_->item_bytes_max(), "the peer's",
                            answers_ ? kClientsBodyOption : kServersBodyOption));
    return nullptr;
  }
  FrameOutput& output = streams_->output();
  if (bytes > FrameOutput::kSmallBytes && !output.reserve(bytes + wire::kHeaderBytes)) [[unlikely]] {
    fail_writing(Status::of<kNoMemoryToSend>());
    return nullptr;
  }
  const wire::ItemHead head{
      .body_bytes = static_cast<std::uint32_t>(bytes), .id = id_, .of_answer = answers_};
  std::byte* const body = output.begin(head.header());
  if (body == nullptr) [[unlikely]] {
    fail_writing(Status::of<kClosed>());
    return nullptr;
  }
  sent_.send(wire::item_cost(head.body_bytes));
  return body;
}

void StreamSide::end_item() noexcept {
  streams_->output().end();
  loop_.turn_time().did(1);
}

void StreamSide::take_back_item(const std::byte* body, std::size_t bytes) noexcept {
  streams_->output().take_back(body);
  sent_.take_back(wire::item_cost(static_cast<std::uint32_t>(bytes)));
}

void StreamSide::end_writing() noexcept {
  if (own_items_ != OwnItems::kOpen) return;
  own_items_ = OwnItems::kEnded;
  wake_writer();
  if (streams_ == nullptr) return;
  streams_->output().send(wire::ItemHead{.id = id_, .of_answer = answers_, .last = true}.header());
}

// However much the peer takes, and however fast, one stream does not make a turn long.
void StreamSide::set_writer(Ready* writer) noexcept {
  const bool may_send = writer != nullptr && streams_ != nullptr && sent_.is_open();
  if (may_send && loop_.turn_time().is_old()) return loop_.turn_time().put_off(*writer);
  writer_ = writer;
  if (writer == nullptr) return unlink();
  if (may_send) streams_->wait_for_room(*this);
}

void StreamSide::wake_writer() noexcept {
  wake(loop_, writer_);
}

void StreamSide::fail_writing(Status why) noexcept {
  own_items_ = OwnItems::kOver;
  if (failure_.ok()) failure_ = std::move(why);
}

void StreamSide::took(std::uint64_t granted) noexcept {
  if (streams_ == nullptr) return;
  if (granted != 0 && !incoming_.have_ended()) {
    streams_->output().send(wire::CreditHead{.id = id_, .granted = granted, .of_answer = answers_}.header());
  }
  if (!streams_->counts(answers_)) return;
  streams_->count_held(counted_, incoming_.held());
  counted_ = incoming_.held();
}

void StreamSide::discard() noexcept {
  took(incoming_.discard());
}

// The reader is woken once for all of them.
Status StreamSide::on_items(std::span<const Frame> items, const ChunkRef& chunk) noexcept {
  if (streams_ == nullptr) return {};  // given up; the call has not ended yet
  std::uint64_t granted = 0;
  for (const Frame& item : items) {
    if (incoming_.have_ended() && failure_.ok()) [[unlikely]] {
      return misplaced_item("an item behind the last one of its stream");
    }
    if (wire::ItemView{item.header}.is_last()) [[unlikely]] {
      incoming_.end();
      continue;
    }
    const std::uint64_t uncounted = incoming_.held() - counted_ + wire::ItemView{item.header}.cost();
    if (streams_->counts(answers_) && !streams_->may_hold(uncounted)) [[unlikely]] {
      fail_for_memory();
      continue;
    }
    switch (incoming_.arrive(item, chunk, streams_->memory(), streams_->loop().chunks(), granted)) {
      case IncomingItems::Arrival::kNoCredit:
        return misplaced_item("an item for which its stream has no credit");
      case IncomingItems::Arrival::kNoMemory:
        fail_for_memory();
        break;
      case IncomingItems::Arrival::kDropped:
      case IncomingItems::Arrival::kKept:
        break;
    }
  }
  took(granted);
  if (incoming_.has_item() || incoming_.have_ended()) wake(loop_, reader_);
  return {};
}

Status StreamSide::on_credit(const wire::FrameHeader& header) noexcept {
  if (!sent_.grant(wire::CreditView{header}.granted())) {
    return misplaced_item("a credit that grants no more than the one before");
  }
  wake_writer();
  return {};
}

void StreamSide::fail_for_memory() noexcept {
  if (failure_.ok()) failure_ = Status::of<kNoMemoryForItem>();
  incoming_.end();
  wake(loop_, reader_);
}

}  // namespace weft::detail
