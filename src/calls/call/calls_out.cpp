// SPDX-License-Identifier: Apache-2.0
#include "calls/call/calls_out.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "calls/call/call_path.hpp"
#include "calls/terms/call_status.hpp"
#include "weft/detail/calls/terms/transfer_progress.hpp"

namespace weft::detail {

namespace {

// Slots of cancelled calls are kept until the peer ends them, but at most this number or twice the number in
// flight: a peer that ends none cannot use more memory.
constexpr std::uint32_t kHeldByPeerMin = 65536;

constexpr FixedFailure kNoRoomForRequest{
    StatusCode::kResourceExhausted, Layer::kRpc, Retry::kBackoff,
    "requests that wait to be sent fill the client's memory, or this connection's share of it "
    "(process_memory_max)"};

constexpr FixedFailure kNoStreams{StatusCode::kUnimplemented, Layer::kRpc, Retry::kNever,
                                  "the peer is of a build that knows no streams"};

void set_timeout(wire::RequestHead& head, Deadline deadline, TimePoint now) {
  if (deadline.is_infinite()) return;
  const auto micros = std::chrono::ceil<std::chrono::microseconds>(deadline.remaining(now)).count();
  if (micros < 0xFFFFFFFFLL) {
    head.timeout = static_cast<std::uint32_t>(std::max<std::int64_t>(micros, 1));
    return;
  }
  head.flags |= wire::FrameFlags::kTimeoutInSeconds;
  head.timeout = static_cast<std::uint32_t>(std::min<std::int64_t>(micros / 1'000'000 + 1, 0xFFFFFFFF));
}

Status misused(std::string_view option, std::string_view why) {
  return {StatusCode::kInvalidArgument, Layer::kRpc,
          [&] { return std::string{"CallOptions::"}.append(option).append(": ").append(why); }};
}

[[gnu::cold, gnu::noinline]] Status no_rate(std::string_view option, std::uint64_t rate) {
  return misused(option, std::to_string(rate) + " bytes/s is no rate; was it negative?");
}

[[gnu::cold, gnu::noinline]] Status check_attachment_rate(std::uint64_t rate, std::uint64_t least) {
  if (rate > Pace::kRateMax) return no_rate("attachment_rate", rate);
  if (rate >= least) return {};
  return misused("attachment_rate",
                 "at " + std::to_string(rate) +
                     " bytes/s (or RpcLimits::attachment_rate_max) the server would take this attachment for "
                     "one that stands still (RpcLimits::frame_timeout); give it at least " +
                     std::to_string(least) + ", or send less at once");
}

Status check_call_options(const CallOptions& options, std::size_t bytes, SessionLink& link) {
  if (options.progress != nullptr && options.progress->is_taken()) [[unlikely]] {
    return misused("progress", "it counts for another call that is under way; give each call its own");
  }
  if (options.landing_rate > Pace::kRateMax) [[unlikely]] {
    return no_rate("landing_rate", options.landing_rate);
  }
  std::uint64_t rate = options.attachment_rate;
  const OutgoingTransfers& transfers = link.transfers();
  const std::uint64_t of_all = transfers.rate_max();
  if ((rate | of_all) == 0) [[likely]] {
    return {};
  }
  if (rate <= Pace::kRateMax && !transfers.splits(bytes)) return {};
  if (rate == 0 || (of_all != 0 && of_all < rate && rate <= Pace::kRateMax)) rate = of_all;
  return check_attachment_rate(rate, transfers.least_rate(bytes, link.limits().frame_timeout));
}

/// Gives where the arguments begin.
std::byte* put_metadata(std::byte* body, Bytes metadata) {
  if (metadata.empty()) return body;
  const std::size_t padding = wire::padded(metadata.size()) - metadata.size();
  std::memcpy(body, metadata.data(), metadata.size());
  std::memset(body + metadata.size(), 0, padding);
  return body + metadata.size() + padding;
}

// OutgoingTransfers limits the number of copied pieces of an attachment that is sent in pieces.
[[gnu::cold, gnu::noinline]] bool reserve_copy(SessionLink& link, std::size_t attachment_bytes) {
  if (!link.output().needs_end() || link.transfers().splits(attachment_bytes)) return true;
  return link.output().reserve(attachment_bytes);
}

/// Copies the attachment of an answer that came whole to its place. False when `exchange` has none for it.
bool land_whole(Exchange& exchange, const Frame& frame, bool checksums) {
  Landing landing = exchange.on_answer_attachment(frame);
  if (landing.kind != Landing::Kind::kInto) return false;
  const std::byte* from = whole_attachment(frame, checksums).data();
  landing.place.take(landing.bytes, [&from](MutableBytes part) {
    std::memcpy(part.data(), from, part.size());
    from += part.size();
  });
  return true;
}

/// Reserves memory for what of a large body is not lent.
Status admit_body(SessionLink& link, std::size_t body_bytes, std::size_t lent_bytes) {
  if (link.output().reserve(body_bytes - lent_bytes + wire::kHeaderBytes)) return {};
  return Status::of<kNoRoomForRequest>();
}

}  // namespace

Begun refuse_for_memory(PendingCall& call) {
  return call.refuse({StatusCode::kResourceExhausted, Layer::kRpc, "out of memory for a request"});
}

// Memory that the caller keeps until its call ends is sent from where it is. Carriers beside the base carrier
// take leased memory for an attachment's.
Begun CallsOut::begin_large(PendingCall& call, std::size_t body_bytes) {
  // A value that cannot be sent has the largest possible size, so do not add to it before this check.
  if (body_bytes > link_.peer().body_bytes_max) {
    return call.refuse(
        over_limit("a request", body_bytes, link_.peer().body_bytes_max, "the server's", kRaiseBody));
  }
  LentRuns runs;
  if (link_.output().lends_runs() && link_.connection().capabilities().lends_runs) call.offer_runs(runs);
  if (runs.empty()) return begin_with_options(call, body_bytes, nullptr);
  const Begun begun = begin_with_options(call, body_bytes, &runs);
  return begun.body == nullptr ? begun : call.write_around(begun.body, runs);
}

Begun CallsOut::begin_with_options(PendingCall& call, std::size_t arguments_bytes, const LentRuns* runs) {
  const Bytes metadata = call.request().metadata();
  const std::size_t body_bytes = wire::padded(metadata.size()) + arguments_bytes;
  if (metadata.size() > wire::kMetadataBytesMax) {
    return call.refuse(
        over_limit("metadata", metadata.size(), wire::kMetadataBytesMax, "the protocol's", {}));
  }
  if (body_bytes > link_.peer().body_bytes_max) {
    return call.refuse(over_limit(metadata.empty() ? "a request" : "a request with its metadata", body_bytes,
                                  link_.peer().body_bytes_max, "the server's", kRaiseBody));
  }
  if (body_bytes > small_body_bytes_) {
    const std::size_t lent = runs != nullptr ? runs->bytes() : 0;
    if (Status refused = admit_body(link_, body_bytes, lent); !refused.ok())
      return call.refuse(std::move(refused));
  }
  if (call.request().method->streams && !link_.peer().knows_streams) {
    return call.refuse(Status::of<kNoStreams>());
  }
  wire::RequestHead head = request_head(*call.request().method, body_bytes);
  head.metadata_bytes = static_cast<std::uint16_t>(metadata.size());
  if (call.request().default_timeout != 0) {
    head.timeout = call.request().default_timeout;
  } else {
    set_timeout(head, call.request().deadline, link_.loop().now());
  }
  if (call.request().details != nullptr) {
    const CallOptions& options = call.request().details->options;
    if (options.attachment.fault() != RunsFault::kNone) [[unlikely]] {
      return call.refuse(check_runs("CallOptions::attachment", options.attachment.fault()));
    }
    if (options.landing.fault() != RunsFault::kNone) [[unlikely]] {
      return call.refuse(check_runs("CallOptions::landing", options.landing.fault()));
    }
    const std::size_t attachment_bytes = options.attachment.bytes();
    if (attachment_bytes > link_.peer().attachment_bytes_max) {
      return call.refuse(over_limit("an attachment", attachment_bytes, link_.peer().attachment_bytes_max,
                                    "the server's", kRaiseServersAttachment));
    }
    if (Status misused = check_call_options(options, attachment_bytes, link_); !misused.ok()) {
      return call.refuse(std::move(misused));
    }
    if (options.attachment.is_shared() && !reserve_copy(link_, attachment_bytes)) [[unlikely]] {
      return call.refuse(Status::of<kNoRoomForRequest>());
    }
    if (attachment_bytes != 0) {
      head.flags |= wire::FrameFlags::kAttachment;
      if (link_.transfers().splits(attachment_bytes)) {
        const bool waits = call.request().method->chooses_landing && link_.transfers().may_wait();
        head.flags |= wire::FrameFlags::kInPieces | (waits ? wire::FrameFlags::kExpectsContinue : 0);
      }
      head.attachment_bytes = attachment_bytes;
    }
    if (!options.landing.empty()) head.flags |= wire::FrameFlags::kLandingNamed;
  }
  if ((head.flags & wire::FrameFlags::kAttachment) != 0) {
    OutgoingTransfer& attachment = call.request().details->attachment();
    attachment.begin(call.request().details->options.attachment);
    attachment.set_held((head.flags & wire::FrameFlags::kExpectsContinue) != 0);
  }
  if (call.request().details != nullptr && call.request().details->options.progress != nullptr) {
    call.request().details->run_on(link_.loop());
  }
  Begun begun = queue(call, head, call.request().details != nullptr || link_.output().needs_end(), runs);
  if (begun.body != nullptr) begun.body = put_metadata(begun.body, metadata);
  return begun;
}

void CallsOut::sent(CallDetails* details, std::uint64_t id) {
  link_.output().end();
  if (details == nullptr) return;
  OutgoingTransfer& attachment = details->attachment();
  const std::size_t bytes = attachment.bytes_left();
  if (bytes != 0 && link_.transfers().splits(bytes)) {
    attachment.belong_to(id, false, details->options.attachment_rate);
    if (!attachment.is_held()) link_.transfers().add(attachment, link_.loop());
  } else if (bytes != 0 && !attachment.queue(link_.connection().outbox(), bytes)) {
    return link_.close({StatusCode::kResourceExhausted, Layer::kRpc, "out of memory for an attachment"});
  }
  const std::uint64_t rate = details->options.landing_rate;
  if (rate != 0 && details->wants_attachment()) [[unlikely]] {
    link_.output().send(wire::RateHead{.id = id, .bytes_per_second = rate}.header());
  }
}

void CallsOut::on_continue(std::uint64_t id) {
  Exchange* const exchange = table_.find(id);
  CallDetails* const details = exchange != nullptr ? exchange->details() : nullptr;
  if (details == nullptr || !details->attachment().let_go()) return;
  link_.transfers().add(details->attachment(), link_.loop(), false);
}

void CallsOut::on_metadata(const Frame& frame) {
  Exchange* const exchange = table_.find(frame.header.id);
  CallDetails* const details = exchange != nullptr ? exchange->details() : nullptr;
  if (details == nullptr) return;
  details->take_metadata(frame, link_.memory());
  if (exchange->stream() != nullptr) details->show_metadata();
}

void CallsOut::take_back(const CallRequest& request, std::uint64_t id, const std::byte* body) noexcept {
  const bool has_metadata = request.details != nullptr || request.carrying != nullptr;
  link_.output().take_back(body - (has_metadata ? wire::padded(request.metadata().size()) : 0));
  table_.take_back(id);
}

void CallsOut::take_attachment_over(CallDetails& details, std::string_view text) {
  Outbox& outbox = link_.connection().outbox();
  link_.transfers().remove(details.attachment());
  if (details.attachment().take_over(outbox)) return;
  // The frame cannot be completed without the caller's memory, so nothing may follow it.
  outbox.release_all();
  link_.close({StatusCode::kResourceExhausted, Layer::kRpc, text});
}

// Otherwise a device would hold the next piece each time that the call checks whether it still holds the last
// one.
void CallsOut::stop_sending(CallDetails& details) {
  link_.transfers().remove(details.attachment());
  details.attachment().give_up();
}

bool CallsOut::may_end_at_once(const Exchange& exchange, const CallDetails& details, std::size_t copies_max) {
  const OutgoingTransfer& attachment = details.attachment();
  const std::size_t whole = attachment.in_pieces() ? 0 : details.options.attachment.bytes();
  if (attachment.is_lent() && attachment.runs_bytes() + whole > copies_max) return false;
  Connection& connection = link_.connection();
  if (attachment.leads(connection.outbox()) && !connection.gives_back_at_once(Carrier::Lent::kSending)) {
    return false;
  }
  if (landing_ == &exchange) return connection.gives_back_at_once(Carrier::Lent::kLanding);
  return !details.lands_ahead || connection.gives_back_at_once(Carrier::Lent::kAhead);
}

void CallsOut::await_memory(PendingCall& call) noexcept {
  link_.transfers().remove(call.request().details->attachment());
  returning_.push_back(call);
}

// The peer reports the end of a cancelled call, which does not count as an answer.
void CallsOut::drop_late_answer(const wire::FrameHeader& header) {
  if (wire::AnswerView{header}.code() != static_cast<unsigned>(StatusCode::kCancelled)) ++late_answers_;
  places_.count(table_.abandoned());
}

void CallsOut::keep_to(std::uint32_t own_max, std::uint32_t peer_max) {
  const std::uint64_t kept_max = std::max(std::uint64_t{kHeldByPeerMin}, 2 * std::uint64_t{own_max});
  places_.own_max = own_max;
  small_body_bytes_ = std::min<std::uint32_t>(link_.peer().body_bytes_max, FrameOutput::kSmallBytes);
  places_.held_by_peer_max = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(peer_max, 1, kept_max));
  places_.count(table_.abandoned());
}

void CallsOut::take_landing_back(Exchange& exchange) {
  if (landing_ == &exchange) {
    landing_ = nullptr;
    return link_.connection().abandon_landing();
  }
  CallDetails* const details = exchange.details();
  if (details == nullptr || !std::exchange(details->lands_ahead, false)) return;
  link_.connection().abandon_landing(Carrier::Lent::kAhead);
}

void CallsOut::abandon(Exchange& exchange, std::uint64_t id) {
  take_landing_back(exchange);
  table_.abandon(id);
  places_.count(table_.abandoned());
  wire::FrameHeader header;
  header.type = wire::FrameType::kCancel;
  header.id = id;
  if (link_.output().begin(header) != nullptr) link_.output().end();
  if (!is_scheduled()) link_.loop().schedule(*this);
}

void CallsOut::tell_room(Ready* node) noexcept {
  static_cast<CallsOut*>(node)->link_.notify_room();
}

// An unwanted attachment need not be sent: notify the peer.
void CallsOut::on_answer_attached(const Frame& frame, const ChunkRef& chunk) {
  const std::uint64_t id = frame.header.id;
  if (frame.header.following_bytes() != 0) [[likely]] {
    Exchange* const exchange = table_.take(id);
    if (exchange == nullptr) return drop_late_answer(frame.header);
    const bool landed = land_whole(*exchange, frame, link_.output().needs_end());
    return exchange->on_answer_attachment_end(frame, landed);
  }
  Exchange* const exchange = table_.find(id);
  if (exchange == nullptr) return;  // it was given up, and its last piece, or a failure, ends it
  CallDetails* const details = exchange->details();
  if (details == nullptr || !details->arriving().is_under_way()) {
    const Landing landing = exchange->on_answer_attachment(frame);
    if (landing.kind == Landing::Kind::kInto) return details->arriving().begin(frame, chunk, landing);
  }
  abandon(*exchange, id);
  exchange->on_answer_attachment_end(frame, false);
}

Result<Landing> CallsOut::on_piece(wire::PieceView piece) {
  landing_ = nullptr;
  Exchange* const exchange = table_.find(piece.id());
  if (exchange == nullptr) return Landing::skip();
  CallDetails* const details = exchange->details();
  if (details == nullptr || !details->arriving().expects(piece)) return misplaced_piece(piece);
  landing_ = exchange;
  return details->arriving().place(piece);
}

void CallsOut::on_piece_end(wire::PieceView piece) {
  Exchange* const exchange = table_.find(piece.id());
  const bool landed = std::exchange(landing_, nullptr) != nullptr;
  if (!landed || exchange == nullptr) {  // a goaway ended the exchange, and it waits for its memory
    if (exchange == nullptr && piece.is_last()) table_.take(piece.id());
    return places_.count(table_.abandoned());
  }
  ArrivingAnswer& arriving = exchange->details()->arriving();
  arriving.landed(piece);
  exchange->details()->received(piece.bytes());
  if (!piece.is_last()) return;
  table_.take(piece.id());
  // The call may be gone when it was told.
  const ArrivingAnswer whole = arriving.take();
  exchange->on_answer_attachment_end(whole.frame(), true);
}

// An exchange has one answer: an early attachment of a second answer would use the same memory twice.
Landing CallsOut::on_attachment_ahead(const wire::FrameHeader& header) {
  if (header.type != wire::FrameType::kAnswer || link_.output().needs_end()) return Landing::skip();
  Exchange* const exchange = table_.find(header.id);
  CallDetails* const details = exchange != nullptr ? exchange->details() : nullptr;
  if (details == nullptr || exchange == landing_ || details->lands_ahead) return Landing::skip();
  if (details->arriving().is_under_way()) return Landing::skip();
  const Landing landing = exchange->on_answer_attachment({header, {}});
  details->lands_ahead = landing.kind == Landing::Kind::kInto;
  return landing;
}

Landing CallsOut::on_answer_attachment(const Frame& frame) {
  Exchange* const exchange = table_.find(frame.header.id);
  landing_ = nullptr;
  if (exchange == nullptr) return Landing::skip();
  const Landing landing = exchange->on_answer_attachment(frame);
  if (landing.kind != Landing::Kind::kInto) return landing;  // a device may write to its memory still
  landing_ = exchange;
  exchange->details()->lands_ahead = false;
  return landing;
}

void CallsOut::on_answer_attachment_end(const Frame& frame, bool landed) {
  Exchange* const exchange = table_.take(frame.header.id);
  landing_ = nullptr;
  if (exchange == nullptr) return drop_late_answer(frame.header);
  if (exchange->details() != nullptr) exchange->details()->lands_ahead = false;
  exchange->on_answer_attachment_end(frame, landed);
}

// The peer may send this as often as it likes, and still each turn ends one part only. The last goaway
// counts, and the calls that it did not accept have not run, even if the peer also ends its side.
void CallsOut::end_from(std::uint64_t position, const Status& why) {
  const bool is_under_way = standing_end_ != nullptr && standing_end_->is_under_way();
  std::unique_ptr<StandingEnd> before = std::move(standing_end_);
  if (why.unprocessed()) before.reset();
  const StandingEnd* const said = before.get();
  standing_end_.reset(new (std::nothrow) StandingEnd{link_, table_, position, why, std::move(before)});
  if (standing_end_ == nullptr) {  // without memory for later
    std::uint32_t first = 0;
    std::size_t all = SIZE_MAX;
    table_.take_some(position, first, all, [&why, said](Exchange& exchange, std::uint64_t begins) {
      const Status* const told = said != nullptr ? said->of(begins) : nullptr;
      exchange.on_lost(told != nullptr ? *told : why, true);
    });
  } else if (is_under_way) {
    standing_end_->put_off();
  } else {
    standing_end_->end_part();
  }
}

bool CallsOut::fail_some(const Status& why, std::uint64_t handed_over, std::uint32_t& slot,
                         std::size_t& left) {
  landing_ = nullptr;
  for (; left > 0 && !returning_.empty(); --left) {
    Exchange& returning = returning_.pop_front();
    returning.on_lost(why, false);
  }
  if (!returning_.empty()) return false;
  const auto failure = [&](std::string_view fate) -> Status {
    if (why.code() == StatusCode::kCancelled) return why;
    const auto text = [&] { return std::string{why.message()}.append("; the call ").append(fate); };
    return {StatusCode::kUnavailable, why.layer(), text, why.native()};
  };
  Status not_sent = failure("was not sent");
  not_sent.mark_unprocessed();
  Status half_sent = failure("did not run, for its attachment was not sent whole");
  half_sent.mark_unprocessed();
  const Status unknown = failure("may or may not have run");
  return table_.take_some(0, slot, left, [&](Exchange& exchange, std::uint64_t begins) {
    const Status* const told = standing_end_ != nullptr ? standing_end_->of(begins) : nullptr;
    if (told != nullptr) return exchange.on_lost(*told, false);
    const bool sent = begins < handed_over;
    const CallDetails* const details = exchange.details();
    const bool whole = details == nullptr || details->attachment().bytes_left() == 0 ||
                       details->attachment().is_taken_early();
    exchange.on_lost(!sent ? not_sent : whole ? unknown : half_sent, false);
  });
}

}  // namespace weft::detail
