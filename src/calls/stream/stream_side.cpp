// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/stream/stream_side.hpp"

#include <new>
#include <utility>

#include "calls/sending/frame_output.hpp"
#include "calls/sending/session_link.hpp"
#include "calls/stream/item_transfer.hpp"
#include "calls/stream/session_streams.hpp"
#include "calls/terms/call_status.hpp"
#include "weft/detail/runtime/client_end.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/wire/heads.hpp"

namespace weft::detail {

namespace {

constexpr FixedFailure kNoMemoryToSend{
    StatusCode::kResourceExhausted, Layer::kRpc, Retry::kBackoff,
    "what waits to be sent fills the memory, or this connection's share of it (process_memory_max)"};
constexpr FixedFailure kClosed{StatusCode::kUnavailable, Layer::kRpc, Retry::kReconnect,
                               "the connection is being closed"};
constexpr FixedFailure kCutAttachment{StatusCode::kDataLoss, Layer::kRpc, Retry::kNever,
                                      "the stream ended in the middle of an item's attachment"};

void check_thread(const Loop& loop) noexcept {
  WEFT_ASSERT(
      is_thread_of(loop),
      "a stream was read or written on another thread than its loop's: do it in a coroutine of that loop, "
      "or write weft::blocking(client).open<f>(...) on a thread without a loop");
}

void wake(Loop& loop, Ready*& waiter) noexcept {
  if (waiter != nullptr) loop.schedule(*std::exchange(waiter, nullptr));
}

// The largest attachment of an item that the peer takes; 0: its build knows none.
std::uint64_t attachment_limit(const SessionStreams& streams) noexcept {
  return streams.peer().knows_attachments ? streams.link().peer().attachment_bytes_max : 0;
}

// Says why an item's attachment cannot be sent; ok when it can.
Status refusal_of(const Attachment& attachment, const StreamPlace& place) {
  if (Status bad = check_runs("the attachment of an item", attachment.fault()); !bad.ok()) return bad;
  const std::uint64_t most = attachment_limit(*place.streams);
  return attachment.size() > most ? attachment_refusal(attachment.size(), most, place.answers) : Status{};
}

// Out of line, so that items without attachment need not pay for a second way.
[[gnu::noinline]] std::byte* begin_attached(const StreamPlace& place, std::uint32_t body_bytes,
                                            std::uint64_t attachment_bytes) noexcept {
  const wire::ItemHead head{.body_bytes = body_bytes,
                            .id = place.id,
                            .of_answer = place.answers,
                            .attachment_bytes = attachment_bytes};
  return place.streams->output().begin(head.header());
}

// Announces that no more items follow.
void send_end(const StreamPlace& place) noexcept {
  place.streams->output().send(
      wire::ItemHead{.id = place.id, .of_answer = place.answers, .last = true}.header());
}

// Takes an item that announces an attachment.
IncomingItems::Arrival await_attachment(StreamSide& side, const Frame& item,
                                        std::uint64_t& granted) noexcept {
  const IncomingItems::Arrival admitted = side.incoming().admit(wire::ItemView{item.header}.cost(), granted);
  if (admitted != IncomingItems::Arrival::kKept) return admitted;
  ArrivingItems* const arriving = side.place().streams->make_arriving();
  OwnedArrivingItem awaited = arriving != nullptr ? arriving->begin(side, item) : nullptr;
  if (awaited == nullptr) return IncomingItems::Arrival::kNoMemory;
  return side.incoming().await(std::move(awaited)) ? IncomingItems::Arrival::kKept
                                                   : IncomingItems::Arrival::kNoMemory;
}

}  // namespace

StreamSide::~StreamSide() {
  if (attachment_ != nullptr) attachment_->stop(loop_);
  if (place_.is_open()) place_.streams->leave(place_.answers, counted_);
}

void StreamSide::open(SessionStreams& streams, std::uint64_t id, bool answers) noexcept {
  place_ = {&streams, id, answers};
  if (answers) streams.enter();
  sent_ = SendWindow{streams.peer().window};
  incoming_.open(streams.window());
  if (own_items_ != OwnItems::kEnded) return;
  own_items_ = OwnItems::kOpen;
  end_writing();
}

StreamTerms StreamTerms::of(const StreamPlace& place) noexcept {
  const SessionStreams& streams = *place.streams;
  return {streams.memory().shared(), streams.window(), streams.peer().item_bytes_max,
          attachment_limit(streams), place.answers};
}

// The side that began the call may only learn of the end when its connection is gone.
void StreamSide::close(const Status& why, bool drops) noexcept {
  if (std::exchange(closed_, true)) return;
  ItemTransfer* const leaving = std::exchange(attachment_, nullptr);
  if (leaving != nullptr) leaving->leave_side();
  const bool is_cut = incoming_.arriving() != nullptr && why.ok() && !drops;
  drops ? incoming_.drop() : incoming_.end();
  own_items_ = OwnItems::kOver;
  if (is_cut) note_loss(Status::of<kCutAttachment>());
  if (failure_.ok()) failure_ = why;
  unlink();
  if (SessionStreams* const streams = std::exchange(place_.streams, nullptr)) {
    streams->leave(place_.answers, counted_);
  }
  wake(loop_, reader_);
  wake_writer();
  // Last: outside of the loop's turns it may call code that destroys the stream.
  if (leaving != nullptr) leaving->stop(loop_);
}

void StreamSide::abandon(const Status& why) noexcept {
  note_loss(Status{why});
  if (!closed_) return close(why, true);
  incoming_.drop();
  wake(loop_, reader_);
}

void StreamSide::note_loss(Status why) noexcept {
  if (!failure_.ok()) return;
  failure_ = std::move(why);
  lost_item_ = true;
}

// The thread is checked for the first item, so that the others cost nothing more. Out of line for the same
// reason.
[[gnu::noinline, gnu::cold]] StreamSide::Writing StreamSide::begin_writing() noexcept {
  if (own_items_ != OwnItems::kUnused) return Writing::kOver;
  check_thread(loop_);
  own_items_ = OwnItems::kOpen;
  return writing();
}

StreamSide::Writing StreamSide::writing() noexcept {
  if (own_items_ != OwnItems::kOpen) [[unlikely]] {
    return begin_writing();
  }
  const bool ready = place_.is_open() && sent_.is_open() && attachment_ == nullptr &&
                     !loop_.turn_time().is_old() && place_.streams->output().has_room_for_items();
  return ready ? Writing::kReady : Writing::kWait;
}

std::byte* StreamSide::begin_item(std::size_t bytes, const Attachment* attachment) noexcept {
  SessionStreams& streams = *place_.streams;
  if (bytes > streams.peer().item_bytes_max) [[unlikely]] {
    fail_writing(over_limit("an item", bytes, streams.peer().item_bytes_max, "the peer's", kRaiseBody));
    return nullptr;
  }
  FrameOutput& output = streams.output();
  if (bytes > FrameOutput::kSmallBytes && !output.reserve(bytes + wire::kHeaderBytes)) [[unlikely]] {
    fail_writing(Status::of<kNoMemoryToSend>());
    return nullptr;
  }
  const auto body_bytes = static_cast<std::uint32_t>(bytes);
  std::uint64_t cost = wire::item_cost(body_bytes);
  std::byte* body = nullptr;
  if (attachment == nullptr) [[likely]] {
    const wire::ItemHead head{.body_bytes = body_bytes, .id = place_.id, .of_answer = place_.answers};
    body = output.begin(head.header());
  } else {
    const std::uint64_t attachment_bytes = attachment->size();
    if (Status refused = refusal_of(*attachment, place_); !refused.ok()) {
      fail_writing(std::move(refused));
      return nullptr;
    }
    body = begin_attached(place_, body_bytes, attachment_bytes);
    cost = wire::item_cost(body_bytes, attachment_bytes);
  }
  if (body == nullptr) [[unlikely]] {
    fail_writing(Status::of<kClosed>());
    return nullptr;
  }
  sent_.send(cost);
  return body;
}

void StreamSide::end_item() noexcept {
  place_.streams->output().end();
  loop_.turn_time().did(1);
}

bool StreamSide::send_attachment(Attachment attachment) noexcept {
  attachment_ = new (std::nothrow) ItemTransfer(std::move(attachment), *this);
  if (attachment_ != nullptr && attachment_->begin(place_)) return true;
  attachment_ = nullptr;
  fail_writing(Status::of<kNoMemoryToSend>());
  return false;
}

void StreamSide::on_attachment_queued() noexcept {
  attachment_ = nullptr;
  if (own_items_ == OwnItems::kEnded) send_end(place_);
  wake_writer();
}

void StreamSide::take_back_item(const std::byte* body, std::size_t bytes,
                                std::uint64_t attachment_bytes) noexcept {
  place_.streams->output().take_back(body);
  sent_.take_back(wire::item_cost(static_cast<std::uint32_t>(bytes), attachment_bytes));
}

void StreamSide::end_writing() noexcept {
  if (own_items_ != OwnItems::kUnused && own_items_ != OwnItems::kOpen) return;
  check_thread(loop_);
  own_items_ = OwnItems::kEnded;
  wake_writer();
  if (place_.is_open() && attachment_ == nullptr) send_end(place_);
}

// Limits the work for one stream in a turn, even if the peer takes items quickly.
void StreamSide::set_writer(Ready* writer) noexcept {
  check_thread(loop_);
  const bool may_send = writer != nullptr && place_.is_open() && sent_.is_open() && attachment_ == nullptr;
  if (may_send && loop_.turn_time().is_old()) return loop_.turn_time().put_off(*writer);
  writer_ = writer;
  if (writer == nullptr) return unlink();
  if (may_send) place_.streams->wait_for_room(*this);
}

void StreamSide::wake_writer() noexcept {
  wake(loop_, writer_);
}

void StreamSide::fail_writing(Status why) noexcept {
  own_items_ = OwnItems::kOver;
  note_loss(std::move(why));
}

void StreamSide::set_reader(Ready* reader) noexcept {
  check_thread(loop_);
  reader_ = reader;
}

void StreamSide::took(std::uint64_t granted) noexcept {
  if (!place_.is_open()) return;
  check_thread(loop_);
  if (granted != 0 && !incoming_.have_ended()) {
    const wire::CreditHead credit{.id = place_.id, .granted = granted, .of_answer = place_.answers};
    place_.streams->output().send(credit.header());
  }
  if (!place_.streams->counts(place_.answers)) return;
  place_.streams->count_held(counted_, incoming_.held());
  counted_ = incoming_.held();
}

// The reader is woken once for all of them.
Status StreamSide::on_items(std::span<const Frame> items, const ChunkRef& chunk) noexcept {
  if (!place_.is_open()) return {};  // given up; the call has not ended yet
  std::uint64_t granted = 0;
  for (const Frame& item : items) {
    if (incoming_.have_ended() && failure_.ok()) [[unlikely]] {
      return misplaced_item("an item behind the last one of its stream");
    }
    if (incoming_.arriving() != nullptr) [[unlikely]] {
      return misplaced_item("an item before the attachment of the one before it was whole");
    }
    if (wire::ItemView{item.header}.is_last()) [[unlikely]] {
      incoming_.end();
      continue;
    }
    const std::uint64_t uncounted = incoming_.held() - counted_ + wire::item_cost(item.header.body_bytes);
    if (place_.streams->counts(place_.answers) && !place_.streams->may_hold(uncounted)) [[unlikely]] {
      fail_reading(Status::of<kNoMemoryForItem>());
      continue;
    }
    IncomingItems::Arrival arrival;
    if (item.header.attachment_bytes == 0) [[likely]] {
      arrival = incoming_.arrive(item, chunk, place_.streams->memory(), loop_.chunks(), granted);
    } else if (place_.streams->peer().knows_attachments) {
      arrival = await_attachment(*this, item, granted);
    } else {
      return misplaced_item("an item with an attachment, which the sides did not agree on");
    }
    switch (arrival) {
      case IncomingItems::Arrival::kNoCredit:
        return misplaced_item("an item for which its stream has no credit");
      case IncomingItems::Arrival::kNoMemory:
        fail_reading(Status::of<kNoMemoryForItem>());
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

void StreamSide::on_attachment_whole() noexcept {
  if (!incoming_.keep_arrived(place_.streams->memory(), loop_.chunks())) {
    return fail_reading(Status::of<kNoMemoryForItem>());
  }
  took(0);
  wake(loop_, reader_);
}

Status StreamSide::on_credit(const wire::FrameHeader& header) noexcept {
  if (!sent_.grant(wire::CreditView{header}.granted())) {
    return misplaced_item("a credit that grants no more than the one before");
  }
  wake_writer();
  return {};
}

void StreamSide::fail_reading(Status why) noexcept {
  note_loss(std::move(why));
  incoming_.end();
  wake(loop_, reader_);
}

}  // namespace weft::detail
