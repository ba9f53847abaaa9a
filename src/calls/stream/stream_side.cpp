// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/stream/stream_side.hpp"

#include <new>
#include <utility>

#include "calls/stream/item_sink.hpp"
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
constexpr FixedFailure kNoAttachments{
    StatusCode::kUnimplemented, Layer::kRpc, Retry::kNever,
    "the caller's protocol carries no attachments of items; nothing of the item was sent"};
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

/// Returns the sink of an open place in a session, whose functions are inline.
SessionStreams& session_of(const StreamPlace& place) noexcept {
  return static_cast<SessionStreams&>(*place.sink);
}

// The largest attachment of an item that the peer takes; 0: none.
std::uint64_t attachment_limit(const StreamPlace& place) noexcept {
  return place.is_session ? session_of(place).attachment_bytes_max() : 0;
}

// Says why an item's attachment cannot be sent; ok when it can.
Status refusal_of(const Attachment& attachment, const StreamPlace& place) {
  if (!place.is_session) return Status::of<kNoAttachments>();
  if (Status bad = check_runs("the attachment of an item", attachment.fault()); !bad.ok()) return bad;
  const std::uint64_t most = attachment_limit(place);
  return attachment.size() > most ? attachment_refusal(attachment.size(), most, place.answers) : Status{};
}

// Takes an item that announces an attachment.
IncomingItems::Arrival await_attachment(StreamSide& side, const Frame& item,
                                        std::uint64_t& granted) noexcept {
  const IncomingItems::Arrival admitted = side.incoming().admit(wire::ItemView{item.header}.cost(), granted);
  if (admitted != IncomingItems::Arrival::kKept) return admitted;
  ArrivingItems* const arriving = session_of(side.place()).make_arriving();
  OwnedArrivingItem awaited = arriving != nullptr ? arriving->begin(side, item) : nullptr;
  if (awaited == nullptr) return IncomingItems::Arrival::kNoMemory;
  return side.incoming().await(std::move(awaited)) ? IncomingItems::Arrival::kKept
                                                   : IncomingItems::Arrival::kNoMemory;
}

}  // namespace

StreamSide::~StreamSide() {
  count_sent();
  if (attachment_ != nullptr) attachment_->stop(loop_);
  if (place_.is_open()) place_.sink->leave(place_.answers, counted_);
}

void StreamSide::open(ItemSink& sink, std::uint64_t id, bool answers) noexcept {
  place_ = {&sink, id, answers, sink.session() != nullptr};
  if (answers) sink.enter();
  sent_ = SendWindow{sink.first_credit()};
  incoming_.open(sink.window());
  if (own_items_ != OwnItems::kEnded) return;
  own_items_ = OwnItems::kOpen;
  end_writing();
}

StreamTerms StreamTerms::of(const StreamPlace& place) noexcept {
  const ItemSink& sink = *place.sink;
  return {sink.memory().shared(), sink.window(), sink.item_bytes_max(), attachment_limit(place),
          place.answers};
}

void StreamSide::count_sent() noexcept {
  if (place_.is_open()) place_.sink->count_sent(std::exchange(items_sent_, 0));
}

// The side that began the call may only learn of the end when its connection is gone.
void StreamSide::close(const Status& why, bool drops) noexcept {
  if (std::exchange(closed_, true)) return;
  count_sent();
  ItemTransfer* const leaving = std::exchange(attachment_, nullptr);
  if (leaving != nullptr) leaving->leave_side();
  const bool is_cut = incoming_.arriving() != nullptr && why.ok() && !drops;
  drops ? incoming_.drop() : incoming_.end();
  own_items_ = OwnItems::kOver;
  if (is_cut) note_loss(Status::of<kCutAttachment>());
  if (failure_.ok()) failure_ = why;
  unlink();
  place_.is_session = false;
  if (ItemSink* const sink = std::exchange(place_.sink, nullptr)) sink->leave(place_.answers, counted_);
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
  if (!place_.is_session) [[unlikely]] {
    return writing_elsewhere();
  }
  const bool ready = sent_.is_open() && attachment_ == nullptr && !loop_.turn_time().is_old() &&
                     session_of(place_).has_room_for_items();
  return ready ? Writing::kReady : Writing::kWait;
}

// The same for a stream that is not open, or that is no session's.
[[gnu::noinline, gnu::cold]] StreamSide::Writing StreamSide::writing_elsewhere() noexcept {
  const bool ready =
      place_.is_open() && sent_.is_open() && !loop_.turn_time().is_old() && place_.sink->has_room_for_items();
  return ready ? Writing::kReady : Writing::kWait;
}

// Small items of sessions take this way, and pay for no other.
std::byte* StreamSide::begin_item(std::size_t bytes, const Attachment* attachment) noexcept {
  if (!place_.is_session || attachment != nullptr || bytes > ItemSink::kSmallItem) [[unlikely]] {
    return begin_any_item(bytes, attachment);
  }
  SessionStreams& session = session_of(place_);
  const auto body_bytes = static_cast<std::uint32_t>(bytes);
  if (body_bytes > session.item_bytes_max()) [[unlikely]] {
    return begin_any_item(bytes, attachment);
  }
  std::byte* const body = session.begin_item(place_, body_bytes);
  if (body == nullptr) [[unlikely]] {
    return fail_closed();
  }
  sent_.send(wire::item_cost(body_bytes));
  return body;
}

[[gnu::noinline, gnu::cold]] std::byte* StreamSide::fail_closed() noexcept {
  fail_writing(Status::of<kClosed>());
  return nullptr;
}

[[gnu::noinline]] std::byte* StreamSide::begin_any_item(std::size_t bytes,
                                                        const Attachment* attachment) noexcept {
  ItemSink& sink = *place_.sink;
  if (bytes > sink.item_bytes_max()) {
    fail_writing(over_limit("an item", bytes, sink.item_bytes_max(), "the peer's", kRaiseBody));
    return nullptr;
  }
  const std::uint64_t attachment_bytes = attachment != nullptr ? attachment->size() : 0;
  Status refused;
  if (bytes > ItemSink::kSmallItem && !sink.reserve_item(bytes)) refused = Status::of<kNoMemoryToSend>();
  if (refused.ok() && attachment != nullptr) refused = refusal_of(*attachment, place_);
  if (!refused.ok()) {
    fail_writing(std::move(refused));
    return nullptr;
  }
  const auto body_bytes = static_cast<std::uint32_t>(bytes);
  std::byte* const body = attachment_bytes == 0
                              ? sink.begin_item(place_, body_bytes)
                              : session_of(place_).begin_attached_item(place_, body_bytes, attachment_bytes);
  if (body == nullptr) return fail_closed();
  sent_.send(wire::item_cost(body_bytes, attachment_bytes));
  return body;
}

void StreamSide::end_item() noexcept {
  if (!place_.is_session || session_of(place_).output().needs_end()) [[unlikely]] {
    return end_any_item();
  }
  ++items_sent_;
  loop_.turn_time().did(1);
}

[[gnu::noinline]] void StreamSide::end_any_item() noexcept {
  if (Status lost = place_.sink->end_item(place_); !lost.ok()) {
    fail_writing(std::move(lost));
  } else {
    ++items_sent_;
  }
  loop_.turn_time().did(1);
}

bool StreamSide::send_attachment(Attachment attachment) noexcept {
  attachment_ = new (std::nothrow) ItemTransfer(std::move(attachment), *this);
  if (attachment_ != nullptr && attachment_->begin(session_of(place_))) return true;
  attachment_ = nullptr;
  fail_writing(Status::of<kNoMemoryToSend>());
  return false;
}

void StreamSide::on_attachment_queued() noexcept {
  attachment_ = nullptr;
  if (own_items_ == OwnItems::kEnded) place_.sink->end_items(place_);
  wake_writer();
}

void StreamSide::take_back_item(const std::byte* body, std::size_t bytes,
                                std::uint64_t attachment_bytes) noexcept {
  place_.sink->take_back_item(body);
  sent_.take_back(wire::item_cost(static_cast<std::uint32_t>(bytes), attachment_bytes));
}

void StreamSide::end_writing() noexcept {
  if (own_items_ != OwnItems::kUnused && own_items_ != OwnItems::kOpen) return;
  check_thread(loop_);
  own_items_ = OwnItems::kEnded;
  count_sent();
  wake_writer();
  if (place_.is_open() && attachment_ == nullptr) place_.sink->end_items(place_);
}

// Limits the work for one stream in a turn, even if the peer takes items quickly.
void StreamSide::set_writer(Ready* writer) noexcept {
  check_thread(loop_);
  const bool may_send = writer != nullptr && place_.is_open() && sent_.is_open() && attachment_ == nullptr;
  if (may_send && loop_.turn_time().is_old()) return loop_.turn_time().put_off(*writer);
  writer_ = writer;
  if (writer == nullptr) return unlink();
  count_sent();
  if (may_send) place_.sink->wait_for_room(*this);
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
  if (granted != 0 && !incoming_.have_ended()) place_.sink->send_credit(place_, granted);
  if (!place_.sink->counts(place_.answers)) return;
  place_.sink->count_held(counted_, incoming_.held());
  counted_ = incoming_.held();
}

// Returns true if the items that are kept and not counted yet, and one more of `cost`, are over the
// connection's share.
inline bool StreamSide::is_over_share(std::uint64_t cost) const noexcept {
  const std::uint64_t uncounted = incoming_.held() - counted_ + cost;
  return place_.sink->counts(place_.answers) && !place_.sink->may_hold(uncounted);
}

IncomingItems::Arrival StreamSide::on_item(Bytes item, const ChunkRef& chunk) noexcept {
  using Arrival = IncomingItems::Arrival;
  if (!place_.is_open()) return Arrival::kDropped;
  if (incoming_.have_ended() && failure_.ok()) return Arrival::kAfterLast;
  const auto bytes = static_cast<std::uint32_t>(item.size());
  place_.sink->count_received(1);
  std::uint64_t granted = 0;
  const Arrival arrival =
      incoming_.are_wanted() && is_over_share(wire::item_cost(bytes))
          ? Arrival::kNoMemory
          : incoming_.arrive(item, bytes, chunk, place_.sink->memory(), loop_.chunks(), granted);
  if (arrival == Arrival::kNoMemory) fail_reading(Status::of<kNoMemoryForItem>());
  took(granted);
  if (incoming_.has_item()) wake(loop_, reader_);
  return arrival;
}

bool StreamSide::on_last_item() noexcept {
  if (!place_.is_open()) return true;
  if (incoming_.have_ended() && failure_.ok()) return false;
  incoming_.end();
  wake(loop_, reader_);
  return true;
}

// The reader is woken once for all of them.
Status StreamSide::on_items(std::span<const Frame> items, const ChunkRef& chunk) noexcept {
  if (!place_.is_open()) return {};  // given up; the call has not ended yet
  std::uint64_t granted = 0;
  std::size_t ends = 0;
  for (const Frame& item : items) {
    if (incoming_.have_ended() && failure_.ok()) [[unlikely]] {
      return misplaced_item("an item behind the last one of its stream");
    }
    if (incoming_.arriving() != nullptr) [[unlikely]] {
      return misplaced_item("an item before the attachment of the one before it was whole");
    }
    if (wire::ItemView{item.header}.is_last()) [[unlikely]] {
      incoming_.end();
      ++ends;
      continue;
    }
    if (is_over_share(wire::item_cost(item.header.body_bytes))) [[unlikely]] {
      fail_reading(Status::of<kNoMemoryForItem>());
      continue;
    }
    IncomingItems::Arrival arrival;
    if (item.header.attachment_bytes == 0) [[likely]] {
      arrival = incoming_.arrive(item.body, item.header.body_bytes, chunk, place_.sink->memory(),
                                 loop_.chunks(), granted);
    } else if (session_of(place_).peer().knows_attachments) {
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
      case IncomingItems::Arrival::kAfterLast:
      case IncomingItems::Arrival::kDropped:
      case IncomingItems::Arrival::kKept:
        break;
    }
  }
  if (place_.is_open()) place_.sink->count_received(items.size() - ends);
  took(granted);
  if (incoming_.has_item() || incoming_.have_ended()) wake(loop_, reader_);
  return {};
}

void StreamSide::on_attachment_whole() noexcept {
  if (!incoming_.keep_arrived(place_.sink->memory(), loop_.chunks())) {
    return fail_reading(Status::of<kNoMemoryForItem>());
  }
  took(0);
  wake(loop_, reader_);
}

bool StreamSide::on_credit(std::uint64_t granted) noexcept {
  if (!sent_.grant(granted)) return false;
  wake_writer();
  return true;
}

void StreamSide::fail_reading(Status why) noexcept {
  note_loss(std::move(why));
  incoming_.end();
  wake(loop_, reader_);
}

}  // namespace weft::detail
