// SPDX-License-Identifier: Apache-2.0
#include "calls/session/session.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "calls/call/call_path.hpp"
#include "calls/serve/answer_rate.hpp"
#include "calls/terms/fault_log.hpp"
#include "weft/detail/base/peer_text.hpp"
#include "weft/detail/transport/carrier_provider.hpp"
#include "weft/detail/wire/heads.hpp"

namespace weft::detail {

namespace {

/// Time to wait for a peer's hello after a goaway, which cannot be sent before it.
constexpr Duration kLateHello = std::chrono::milliseconds{100};

constexpr FixedFailure kNoMemoryForHello{StatusCode::kResourceExhausted, Layer::kRpc, Retry::kReconnect,
                                         "out of memory for a hello"};

constexpr FixedFailure kNoMemoryToPutOff{
    StatusCode::kResourceExhausted, Layer::kRpc, Retry::kBackoff,
    "answers wait to be sent, and the server's memory (process_memory_max) has no room for more requests"};

void send_pong(FrameOutput& output, OutgoingTransfers& transfers, std::uint64_t id) {
  output.send({.type = wire::FrameType::kPong, .id = id});
  transfers.pong_queued();
}

Refusal no_memory_to_put_off() {
  return {RefusalReason::kOverProcessMemory, Status::of<kNoMemoryToPutOff>()};
}

constexpr FixedFailure kMuchToSend{StatusCode::kResourceExhausted, Layer::kRpc, Retry::kBackoff,
                                   "too much waits to be sent to this caller (outbox_high_water)"};
/// Bytes of an answer that refuses a request for that reason.
constexpr std::size_t kRefusalBytes = 128;
/// Bytes that a call causes while the peer does not read: such an answer or, for a stream, that and the
/// three credits that a writer gets at most.
constexpr std::size_t kCausedBytes = 2 * kRefusalBytes + 32;
static_assert(kRefusalBytes + 3 * wire::head_bytes(0, true) <= kCausedBytes);
static_assert(wire::kHeaderBytes + kMuchToSend.message.size() + 16 <= kRefusalBytes);

constexpr FixedFailure kGivenUpAside{StatusCode::kCancelled, Layer::kRpc, Retry::kNever,
                                     "the caller gave up before the call was taken"};

constexpr FixedFailure kPeerEndedItsSide{
    StatusCode::kUnavailable, Layer::kRpc, Retry::kReconnect,
    "the peer ended its side of the connection and answers no more; the call may or may not have run"};

constexpr std::size_t kReasonBytesMax = 256;

// Of calls that were not taken by a peer that gives this reason.
Status untaken(std::string_view reason) {
  const auto text = [reason] {
    return "the peer went away before it took the call, and says: " + peer_text(reason, kReasonBytesMax);
  };
  Status status{StatusCode::kUnavailable, Layer::kRpc, text};
  status.mark_unprocessed();
  return status;
}

Status unknown_type(const wire::FrameHeader& header, const RpcLimits& limits) {
  return wire::fault_status(wire::FrameFault::kUnknownType, header, connection_options(limits).frame_limits);
}

// A hello of this side that contains only its features.
wire::Hello hello_with_features(bool checksums) {
  wire::Hello hello;
  hello.features_supported = wire::Features::kAll;
  hello.features_required = checksums ? wire::Features::kChecksum : 0;
  return hello;
}

// If both sides stopped reading until the other reads, neither would ever continue. Therefore a side that
// waits for answers goes on reading, and refuses requests meanwhile. So when both sides have too much to
// send, only a side that waits for no answers stops reading: its outbox is full of answers, and the peer that
// waits for them does read. An honest peer has a limited number of unanswered requests, and each causes one
// small refusal or, for a stream, a few credits, as do the streams that this side has opened; a peer that
// causes more has to read first. Bytes that were queued before do not count, because one frame may be large.
bool may_put_off(Session& session) {
  const std::size_t awaited = session.calls_out().awaited();
  if (awaited == 0) return true;
  const std::size_t caused = (session.limits().calls_in_flight_max + awaited) * kCausedBytes;
  return session.connection().outbox().queued_bytes() > session.output().full_at() + caused;
}

// As for deferred requests: stop reading until the peer has received the answers that it caused.
void stop_reading_if_full(Session& session, bool has_room) {
  if (has_room || !may_put_off(session)) [[likely]] {
    return;
  }
  session.connection().pause_receiving();
  session.calls_out().hold_back(true);
}

/// Handling of a request while too many attachments of answers are queued to create further ones.
enum class BesideAnswers : std::uint8_t {
  kServed,    ///< it is answered without one
  kSetAside,  ///< nothing that belongs to it follows, so more may be received while it waits
  kPutOff,    ///< as when the outbox is full
};

BesideAnswers way_of(Session& session, const Frame& frame) {
  const wire::RequestView request{frame.header};
  if (!session.output().has_room() || request.attachment_bytes() != 0) return BesideAnswers::kPutOff;
  // A request without its body is refused now, because the reason is only kept until the next refusal.
  if (frame.body.size() < frame.header.body_bytes) return BesideAnswers::kServed;
  const MethodEntry* const method = RequestCheck{session.host().methods}.method_for(request);
  if (method == nullptr || method->kind == HandlerKind::kInline) return BesideAnswers::kServed;
  const bool is_long = frame.body.size() > RequestsSetAside::kBodyMax;
  return method->key.streams || is_long ? BesideAnswers::kPutOff : BesideAnswers::kSetAside;
}

/// Notifies up to `left` calls of a lost connection. Returns false when some remain.
bool tell(CallsIn* in, CallsOut& out, SessionEnding& ending, std::size_t& left) noexcept {
  return (in == nullptr || in->orphan_some(left)) &&
         out.fail_some(ending.why, ending.handed_over, ending.slot, left);
}

// The peer sends nothing more: ends streams, and as many incomplete attachments as may end in one turn.
// Returns false when there were none.
bool give_up_what_arrives(CallsIn* in, bool is_first_turn) {
  if (in == nullptr) return false;
  const bool some = in->arriving_calls() != nullptr && in->arriving_calls()->end_some();
  return (is_first_turn && in->calls().give_up_streams()) || some;
}

}  // namespace

std::uint32_t own_calls_max(const RpcLimits& limits, std::uint32_t calls_max, const Connection& connection) {
  const std::uint32_t wanted = calls_max != 0 ? calls_max : connection.capabilities().calls_shared_max;
  return std::min(limits.calls_in_flight_max, wanted);
}

ConnectionOptions connection_options(const RpcLimits& limits) {
  ConnectionOptions options;
  options.frame_limits.body_bytes_max = limits.body_bytes_max;
  options.frame_limits.attachment_bytes_max = limits.attachment_bytes_max;
  options.stall_timeout = limits.stall_timeout;
  options.frame_timeout = limits.frame_timeout;
  return options;
}

Session::Session(const SessionSetup& setup, std::unique_ptr<Connection> connection,
                 std::uint64_t connection_id)
    : SessionLink(setup.loop, setup.limits, *setup.host.memory, std::move(connection), connection_id),
      owner_(setup.owner),
      host_(setup.host),
      hello_timeout_(setup.hello_timeout),
      calls_max_(setup.calls_max),
      checksums_(setup.checksums),
      connecting_(setup.connecting),
      ends_in_slices_(setup.ends_in_slices),
      out_(*this) {
  if (host_.methods != nullptr) make_calls_in();
  host_.traffic.join(*this);
}

void Session::make_calls_in() {
  in_ = std::make_unique<CallsIn>(*this, host_);
  if (state_ != State::kHello) introduce_peer();
}

void Session::introduce_peer() {
  AnswerWriter& answers = in_->answers();
  answers.set_peer_identity(connection_->peer_identity());
  if ((features_ & wire::Features::kDetails) != 0) answers.allow_details();
  if ((features_ & wire::Features::kAnswerMetadata) != 0) answers.allow_metadata();
}

Session::~Session() {
  abandon();
  host_.traffic.leave(*this);
}

// The connection is destroyed first: it returns every lease, and no event of it reaches the calls afterwards.
// Functions of the session on the stack find no room for requests, and stop.
void Session::abandon() noexcept {
  if (std::exchange(abandoned_, true)) return;
  const std::uint64_t handed_over = connection_->outbox().handed_over();
  state_ = State::kClosed;
  output_.shut();
  loop().disarm(*this);
  put_off_.reset();
  set_aside_.reset();
  connection_->abandon();
  transfers_.drop_all();
  std::size_t all = SIZE_MAX;
  SessionEnding ending{{StatusCode::kCancelled, Layer::kRpc, "the connection was closed on this side"},
                       handed_over};
  if (ending_ != nullptr) ending = *ending_;
  out_.fail_some(ending.why, ending.handed_over, ending.slot, all);
  seat_.on_closed();
  if (in_ != nullptr) in_->orphan_some(all);
}

ConnectionStats Session::traffic() const noexcept {
  ConnectionStats stats = connection_->stats();
  stats.items_received = streams_.items_received();
  stats.items_sent = streams_.items_sent();
  return stats;
}

// From its beginning on the connection reports, also that there was no memory for a hello.
void Session::start(Bytes received) noexcept {
  connection_->start(*this, received);
  loop().arm(*this, Deadline::after(loop().now(), hello_timeout_).at());
  wire::Hello hello = hello_with_features(checksums_);
  hello.body_bytes_max = limits_.body_bytes_max;
  hello.attachment_bytes_max = limits_.attachment_bytes_max;
  hello.calls_in_flight_max = limits_.calls_in_flight_max;
  hello.stream_window_bytes = limits_.stream_window;
  try {
    hello.carriers = connection_->carrier_offers();
    const std::string bytes = wire::encode_hello(hello);
    if (std::byte* room = connection_->outbox().append(bytes.size())) {
      std::copy_n(bytes.begin(), bytes.size(), reinterpret_cast<char*>(room));
      return;
    }
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): as without room
  }
  close(Status::of<kNoMemoryForHello>());
}

Status Session::on_hello(const wire::Hello& theirs) {
  life_.heard = true;
  const wire::Hello ours = hello_with_features(checksums_);
  // If this side offered a carrier, the demands of the peer were checked when the carrier was chosen.
  if (connecting_ && connection_->carrier_offers().empty()) {
    if (Status refused = refuse_demands(theirs.carriers); !refused.ok()) return refused;
  }
  const Result<std::uint64_t> features = wire::agree_features(ours, theirs);
  if (!features.ok()) return features.status();
  const bool wanted = ((ours.features_required | theirs.features_required) & wire::Features::kChecksum) != 0;
  if (wanted) {
    output_.use_checksums();
    connection_->use_checksums();
  }
  if ((*features & wire::Features::kPieces) != 0) {
    transfers_.allow((*features & wire::Features::kContinue) != 0, limits_.attachment_rate_max);
  }
  features_ = *features;
  if (in_ != nullptr) introduce_peer();
  if ((*features & wire::Features::kStreams) != 0) {
    const bool attached = (*features & wire::Features::kItemAttachments) != 0;
    streams_.allow({.window = theirs.stream_window_bytes,
                    .item_bytes_max = theirs.body_bytes_max,
                    .knows_streams = true,
                    .knows_attachments = attached,
                    .counts_opened = !connecting_});
  }
  peer_ = {.attachment_bytes_max = theirs.attachment_bytes_max,
           .body_bytes_max = theirs.body_bytes_max,
           .knows_streams = streams_.are_allowed()};
  out_.keep_to(own_calls_max(limits_, calls_max_, *connection_), theirs.calls_in_flight_max);
  state_ = State::kReady;
  if (limits_.ping_interval > Duration::zero() && connection_->capabilities().peer_may_vanish) {
    loop().arm(*this, Deadline::after(loop().now(), limits_.ping_interval).at());
  } else {
    loop().disarm(*this);
  }
  owner_.on_session_ready(*this);
  return {};
}

Status Session::on_frames(std::span<const Frame> frames, const ChunkRef& chunk) {
  life_.heard = true;
  Status status = take_frames(frames, chunk);
  owner_.on_session_room(*this);
  return status;
}

Status Session::take_frames(std::span<const Frame> frames, const ChunkRef& chunk, TimePoint held_since) {
  if (in_ != nullptr) in_->begin_batch(held_since);
  const CallsOut::Receiving receiving{out_, chunk};
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (frames[i].header.type == wire::FrameType::kAnswer) {
      out_.on_answer(frames[i], chunk);
      continue;
    }
    if (frames[i].header.type == wire::FrameType::kRequest && !output_.has_room_for_requests()) [[unlikely]] {
      if (abandoned_) return {};
      const BesideAnswers way = way_of(*this, frames[i]);
      if (way == BesideAnswers::kSetAside && set_aside(frames[i], held_since)) continue;
      if (way == BesideAnswers::kServed) {
        Status status = calls_in().on_request(frames[i], chunk);
        if (!status.ok()) return status;
        continue;
      }
      const bool waits = may_put_off(*this);
      if (waits && put_off(frames.subspan(i), chunk, held_since)) return {};
      calls_in().refuse_request(
          wire::RequestView{frames[i].header},
          waits ? no_memory_to_put_off() : Refusal{RefusalReason::kOverOutbox, Status::of<kMuchToSend>()});
      continue;
    }
    if (frames[i].header.type != wire::FrameType::kRequest) [[unlikely]] {
      if (abandoned_) return {};
      std::size_t last = i;  // a counter of its own, so that the loop's stays in a register
      Status status = on_other(frames, last, chunk);
      if (!status.ok()) return status;
      i = last;
      continue;
    }
    Status status = calls_in().on_request(frames[i], chunk);
    if (!status.ok()) [[unlikely]] {
      return status;
    }
  }
  return {};
}

// Returns false when memory is exhausted, or the list is full.
bool Session::set_aside(const Frame& request, TimePoint held_since) {
  if (set_aside_ == nullptr) {
    set_aside_.reset(new (std::nothrow) RequestsSetAside{memory(), host_.table_secret});
  }
  return set_aside_ != nullptr && set_aside_->add(request, std::min(held_since, loop().now()));
}

// Returns false when there is no memory for them. Receiving stops in that case too, so only the frames of one
// batch are refused instead.
bool Session::put_off(std::span<const Frame> frames, const ChunkRef& chunk, TimePoint held_since) {
  connection_->pause_receiving();
  out_.hold_back(true);
  put_off_ =
      RequestsPutOff::make(frames, chunk, loop().chunks(), memory(), std::min(held_since, loop().now()));
  return put_off_ != nullptr;
}

Status Session::on_other(std::span<const Frame> frames, std::size_t& at, const ChunkRef& chunk) {
  const Frame& frame = frames[at];
  switch (frame.header.type) {
    case wire::FrameType::kItem: {
      // A frame that is sent for them may not come for long.
      if ((frame.header.flags & wire::FrameFlags::kInPieces) == 0) {
        TurnTime& turn = loop().turn_time();
        turn.company().came(turn.now());
      }
      const std::span<const Frame> items = SessionStreams::items_at_front_of(frames.subspan(at));
      at += items.size() - 1;
      const wire::ItemView item{frame.header};
      Status breach;
      StreamSide* const stream =
          find_stream(item.id(), item.of_answer(), "an item for a call of one answer", breach);
      if (!breach.ok()) [[unlikely]] {
        return breach;
      }
      Status status = streams_.on_items(stream, items, chunk);
      // The credits for them are bounded only if the peer reads them.
      if (connection_->outbox().queued_bytes() > limits_.outbox_high_water) [[unlikely]] {
        stop_reading_if_full(*this, output_.has_room());
      }
      return status;
    }
    case wire::FrameType::kCredit: {
      const wire::CreditView credit{frame.header};
      Status breach;
      StreamSide* const stream =
          find_stream(credit.id(), credit.of_answer(), "a credit for a call of one answer", breach);
      return breach.ok() ? SessionStreams::on_credit(stream, credit) : breach;
    }
    case wire::FrameType::kCancel:
      if (const auto aside = set_aside_ != nullptr ? set_aside_->take(frame.header.id) : nullptr) {
        calls_in().refuse_request(wire::RequestView{aside->frame().header},
                                  {RefusalReason::kOverOutbox, Status::of<kGivenUpAside>()});
      } else if (in_ != nullptr) {
        in_->on_cancel(frame.header.id);
      }
      return {};
    case wire::FrameType::kContinue:
      out_.on_continue(frame.header.id);
      return {};
    case wire::FrameType::kPing:
      // Of the pings that arrive while the outbox is full only the last is answered, once there is room: a
      // peer that pings and does not read cannot fill the outbox with pongs.
      if (!output_.has_room()) {
        life_.pong_owed = frame.header.id;
      } else {
        send_pong(output_, transfers_, frame.header.id);
      }
      return {};
    case wire::FrameType::kPong:
      if (transfers_.on_pong(frame.header.id)) return {};
      if (frame.header.id == life_.ping_id(connection_id())) life_.asked = false;
      return {};
    case wire::FrameType::kRequest:  // both taken before
    case wire::FrameType::kAnswer:
      return {};
    case wire::FrameType::kGoaway:
      if (state_ == State::kReady) state_ = State::kDraining;
      if (const std::uint64_t taken = wire::GoawayView{frame.header}.taken_up_to()) {
        out_.end_from(taken, untaken(as_text(frame.body)));
      }
      owner_.on_session_goaway(*this);
      return {};
    case wire::FrameType::kRate: {
      const wire::RateView rate{frame.header};
      if (set_aside_ != nullptr && set_aside_->want_answer_rate(rate.id(), rate.bytes_per_second()))
        return {};
      if (in_ != nullptr) keep_answer_to_rate(*in_, rate.id(), rate.bytes_per_second());
      return {};
    }
    case wire::FrameType::kAnswerMetadata:
      out_.on_metadata(frame);
      return {};
    case wire::FrameType::kPiece:  // taken as an attachment
      return {};
    case wire::FrameType::kCarrier:  // the connection's, and only before we hear anything
      break;
    default:
      if (!wire::is_skippable(frame.header.type)) break;
      ++host_.frames_skipped;
      return {};
  }
  return unknown_type(frame.header, limits_);
}

StreamSide* Session::find_stream(std::uint64_t id, bool of_answer, std::string_view frame,
                                 Status& breach) const {
  StreamSide* stream = nullptr;
  if (of_answer) {
    Exchange* const exchange = out_.table().find(id);
    if (exchange == nullptr) return nullptr;
    stream = exchange->stream();
  } else {
    ServedCall* const call = in_ != nullptr ? in_->find(id) : nullptr;
    if (call == nullptr || call->answered()) return nullptr;
    stream = call->stream().get();
  }
  if (stream == nullptr) breach = misplaced_item(frame);
  return stream;
}

// A failure is the peer's breach of the protocol.
Result<Landing> Session::place_of(wire::PieceView piece) {
  if (piece.of_item()) {
    streams_.on_no_piece();
    Status breach;
    StreamSide* const stream =
        find_stream(piece.id(), piece.of_answer(), "a piece of an item for a call of one answer", breach);
    if (!breach.ok()) return breach;
    return streams_.on_piece(stream, piece);
  }
  if (piece.of_answer()) return out_.on_piece(piece);
  if (in_ == nullptr || in_->arriving_calls() == nullptr) return Landing::skip();
  return in_->arriving_calls()->on_piece(piece);
}

bool Session::wants_body(const wire::FrameHeader& header, Bytes arrived) {
  if (header.type == wire::FrameType::kRequest) {
    return in_ != nullptr && in_->wants_body(wire::RequestView{header}, arrived);
  }
  if (header.type == wire::FrameType::kItem) {
    const wire::ItemView item{header};
    Status breach;
    return streams_.wants_item(find_stream(item.id(), item.of_answer(), {}, breach), arrived.size());
  }
  if (header.type == wire::FrameType::kAnswerMetadata) return header.body_bytes <= wire::kMetadataBytesMax;
  return !wire::is_skippable(header.type);
}

bool Session::takes_whole(const wire::FrameHeader& header) const {
  if (!connection_->capabilities().comes_whole(header.attachment_bytes)) return false;
  if (header.type == wire::FrameType::kRequest) {
    return in_ != nullptr && in_->takes_whole(wire::RequestView{header});
  }
  return header.type == wire::FrameType::kAnswer;
}

Landing Session::on_attachment(const Frame& frame) {
  life_.heard = true;
  if (frame.header.type == wire::FrameType::kPiece) {
    Result<Landing> landing = place_of(wire::PieceView{frame.header});
    if (!landing.ok()) {
      close(std::move(landing).status());
      return Landing::skip();
    }
    if (landing->kind == Landing::Kind::kSkip) ++host_.pieces_skipped;
    return *landing;
  }
  if (frame.header.type == wire::FrameType::kRequest) return calls_in().on_request_attachment(frame);
  if (frame.header.type == wire::FrameType::kAnswer) return out_.on_answer_attachment(frame);
  return Landing::skip();
}

Status Session::on_attachment_end(const Frame& frame, const ChunkRef& chunk, bool landed) {
  life_.heard = true;
  Status status;
  const wire::PieceView piece{frame.header};
  const bool is_piece = frame.header.type == wire::FrameType::kPiece;
  if (is_piece && piece.of_item()) {
    if (streams_.arriving() != nullptr) streams_.arriving()->on_piece_end();
  } else if (is_piece && piece.of_answer()) {
    out_.on_piece_end(piece);
  } else if (is_piece) {
    if (in_ != nullptr && in_->arriving_calls() != nullptr) in_->arriving_calls()->on_piece_end(piece);
  } else if (frame.header.type == wire::FrameType::kRequest) {
    status = calls_in().on_request_attachment_end(frame, chunk, landed);
  } else if (frame.header.type == wire::FrameType::kAnswer) {
    out_.on_answer_attachment_end(frame, landed);
  } else {
    ++host_.frames_skipped;
  }
  owner_.on_session_room(*this);
  // An upload announced before there were too many answers is accepted, as its request was.
  if (frame.header.type == wire::FrameType::kRequest) {
    stop_reading_if_full(*this, output_.has_room_for_requests());
  } else if (is_piece && !piece.of_answer() && !piece.of_item()) {
    stop_reading_if_full(*this, output_.has_room());
  }
  return status;
}

void Session::on_drained() {
  output_.drained();
  if (in_ != nullptr) in_->answers().wake_room_waiter();
  streams_.wake_writers();
  if (const auto id = std::exchange(life_.pong_owed, std::nullopt)) {
    send_pong(output_, transfers_, *id);
  }
  while (set_aside_ != nullptr && output_.has_room_for_requests()) {
    const auto first = set_aside_->take_first();
    if (first == nullptr) {
      set_aside_.reset();
      break;
    }
    Status status = calls_in().on_held_request(first->frame(), first->since());
    if (!status.ok()) return close(std::move(status));
    keep_answer_to_rate(*in_, first->id(), first->answer_rate());
  }
  // No frame may pass the requests that are deferred because the outbox is full.
  if (set_aside_ != nullptr) stop_reading_if_full(*this, output_.has_room());
  if (const std::unique_ptr<RequestsPutOff> taken = std::move(put_off_)) {
    taken->release_charge();
    Status status = take_frames(taken->frames(), taken->chunk(), taken->since());
    if (!status.ok()) return close(std::move(status));
  }
  // While there are too many answers, do not read on: each request with an attachment after it would add one.
  const bool reads = put_off_ == nullptr && (output_.has_room_for_requests() || !may_put_off(*this));
  if (reads) out_.hold_back(false);
  owner_.on_session_room(*this);
  if (reads) connection_->resume_receiving();
}

bool Session::owes_more() {
  const bool is_any_aside = set_aside_ != nullptr && !set_aside_->empty();
  const bool gave_up = give_up_what_arrives(in_.get(), state_ != State::kHalfClosed);
  if (!owes_answers() && !gave_up && !is_any_aside) return false;  // those end first
  if (state_ == State::kReady || state_ == State::kDraining) {
    state_ = State::kHalfClosed;
    life_.asked = false;  // nothing more arrives
    output_.send({.type = wire::FrameType::kPing, .id = life_.ping_id(connection_id())});
    // Our own calls, which handlers may be waiting for, will not be answered.
    out_.end_from(0, Status::of<kPeerEndedItsSide>());
    seat_.on_room();
    owner_.on_session_goaway(*this);
  }
  return true;
}

void Session::on_closed(Status why) {
  state_ = State::kClosed;
  if (const auto breach = breach_of(why)) count_refusal(*breach, why);
  if (host_.faults != nullptr) faults_.close(*host_.faults, *connection_);
  loop().disarm(*this);
  put_off_.reset();
  set_aside_.reset();
  if (why.ok()) why = {StatusCode::kUnavailable, Layer::kTransport, "the peer closed the connection"};
  transfers_.drop_all();
  // All lent memory has been returned, so no call waits for it: a call that is notified in a later turn may
  // end, or be cancelled, before it is notified.
  std::size_t left = ends_in_slices_ ? kCallsEndedAtOnce : SIZE_MAX;
  SessionEnding ending{why, connection_->outbox().handed_over()};
  if (!tell(in_.get(), out_, ending, left)) {
    ending_.reset(new (std::nothrow) SessionEnding{ending});
    left = SIZE_MAX;
    if (ending_ == nullptr) tell(in_.get(), out_, ending, left);  // without memory to tell them later
  }
  seat_.on_closed();
  owner_.on_session_closed(*this, why);
}

bool Session::end_some(std::size_t& left) noexcept {
  if (ending_ != nullptr && !tell(in_.get(), out_, *ending_, left)) return false;
  ending_.reset();
  return true;
}

void Session::on_timer() {
  // After this side was blocked, the peer's hello, pong or end may have arrived already, and is read first.
  const Duration timeout = state_ == State::kHello ? hello_timeout_
                           : life_.finished        ? limits_.stall_timeout
                                                   : limits_.ping_interval;
  const TimePoint fair = loop().turn_time().absence().judge_from(timeout);
  if (fair > loop().now()) return loop().arm(*this, fair);
  if (!connection_->has_looked(at())) return loop().arm(*this, at());
  if (state_ == State::kHello) {
    return close({StatusCode::kUnavailable, Layer::kRpc, "the peer sent no hello in time"});
  }
  if (life_.finished && (connection_->is_moving() || transfers_.has_more())) {
    return loop().arm(*this, Deadline::after(loop().now(), limits_.stall_timeout).at());
  }
  if (life_.finished) {
    return close(
        {StatusCode::kUnavailable, Layer::kRpc, "the peer did not end the connection after this side had"});
  }
  watch_peer();
}

// An active peer is pinged one interval after its last frame, and considered dead after another one.
void Session::watch_peer() {
  const Duration interval = limits_.ping_interval;
  TimePoint since = loop().now();
  // Its pongs would not be read, or it has ended its side.
  const bool cannot_answer = state_ == State::kHalfClosed || !connection_->receives();
  if (!cannot_answer && (life_.heard || connection_->is_moving())) {
    if (life_.heard && !connection_->is_moving()) since = connection_->behind_since();
    // The last frame may have arrived an interval ago.
    life_.pinged = Deadline::after(since, interval).at() <= loop().now();
    life_.heard = false;
    if (life_.pinged) since = loop().now();
  } else if (!cannot_answer && std::exchange(life_.pinged, true)) {
    return close({StatusCode::kUnavailable, Layer::kRpc,
                  "the peer is silent: it answered no ping, so it is taken for dead"});
  }
  if (cannot_answer || life_.pinged)
    output_.send({.type = wire::FrameType::kPing, .id = life_.ping_id(connection_id())});
  loop().arm(*this, Deadline::after(since, interval).at());
}

// The hello of an honest peer is in flight when its connection is accepted, and the owner sends the goaway
// after it; a silent peer gets little time.
void Session::send_goaway(std::string_view reason, bool asks) {
  if (state_ == State::kHello) {
    const TimePoint soon = Deadline::after(loop().now(), kLateHello).at();
    if (armed() && at() > soon) loop().arm(*this, soon);
    return;
  }
  if (life_.goaway_sent || state_ == State::kClosed) return;
  life_.goaway_sent = true;
  if (state_ == State::kReady) state_ = State::kDraining;
  output_.send(wire::GoawayHead{}.header(), reason);
  if (!asks) return;
  life_.asked = true;
  output_.send({.type = wire::FrameType::kPing, .id = life_.ping_id(connection_id())});
}

void Session::finish() {
  if (state_ == State::kClosed) return;
  if (std::exchange(life_.finished, true)) return;
  if (state_ == State::kReady) state_ = State::kDraining;
  connection_->finish();
  // No ping can be sent after the end of this side, so this timeout limits the wait for the peer to end its
  // own.
  loop().arm(*this, Deadline::after(loop().now(), limits_.stall_timeout).at());
}

bool Session::serves_last_calls() {
  return state_ == State::kDraining && life_.goaway_sent && !life_.finished && owes_answers();
}

const std::shared_ptr<PeerTarget>& Session::peer_target() {
  std::shared_ptr<PeerTarget>& target = seat_.target();
  if (target == nullptr) target = PeerTarget::of(out_, host_.peer_call_timeout, host_.peers);
  return target;
}

void Session::close_with_goaway(const Status& why) {
  // Requests that are put off count as taken: while there are any, nothing can be sent at once.
  if (state_ == State::kReady || state_ == State::kDraining) {
    while (const auto aside = set_aside_ != nullptr ? set_aside_->take_first() : nullptr) {
      calls_in().refuse_request(wire::RequestView{aside->frame().header},
                                {RefusalReason::kOverOutbox, Status::of<kMuchToSend>()});
    }
    // A request that has not arrived completely may have been given to its handler already.
    const std::uint64_t taken_up_to =
        connection_->handed_up() + (in_ != nullptr && in_->has_begun_early() ? 1 : 0);
    output_.send(wire::GoawayHead{.taken_up_to = taken_up_to}.header(), why.message());
    connection_->outbox().send_now();
  }
  close(why);
}

void Session::count_refusal(RefusalReason reason, const Status& why) {
  host_.refusals.count(reason);
  if (host_.faults == nullptr) return;
  faults_.note(*host_.faults, *connection_, reason, why, loop().now());
}

}  // namespace weft::detail
