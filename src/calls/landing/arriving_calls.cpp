// SPDX-License-Identifier: Apache-2.0
#include "calls/landing/arriving_calls.hpp"

#include <new>
#include <utility>

#include "calls/call/standing_end.hpp"
#include "calls/terms/call_status.hpp"
#include "weft/detail/calls/terms/chunk_keeping.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/transport/connection.hpp"

namespace weft::detail {

namespace {

/// Time to wait for unwanted memory that a device still fills, before it is taken by force, which may cost
/// the connection; and the interval of the checks.
constexpr Duration kLandingBackWithin = std::chrono::milliseconds{250};
constexpr Duration kLandingLook = std::chrono::milliseconds{1};

constexpr FixedFailure kStoodStill{StatusCode::kUnavailable, Layer::kRpc, Retry::kBackoff,
                                   "the request's attachment did not get on for the server's frame_timeout"};
constexpr FixedFailure kTooLate{StatusCode::kDeadlineExceeded, Layer::kRpc, Retry::kNever,
                                "the deadline passed before the request's attachment was there"};
constexpr FixedFailure kPeerEndedBefore{
    StatusCode::kUnavailable, Layer::kRpc, Retry::kNever,
    "the peer ended its side of the connection before the request's attachment was there"};
constexpr FixedFailure kNoMemoryToAsk{StatusCode::kResourceExhausted, Layer::kRpc, Retry::kBackoff,
                                      "out of memory to ask for a request's attachment"};

}  // namespace

ArrivingCalls::ArrivingCalls(ArrivingCallsOwner& owner, SessionLink& link, Admission& admission,
                             RefusalCounters& refusals, std::uint64_t table_secret)
    : owner_(owner), link_(link), admission_(admission), refusals_(refusals), table_(table_secret) {}

ArrivingCalls::~ArrivingCalls() {
  std::size_t all = SIZE_MAX;
  drop_some(all);
}

std::optional<Refusal> ArrivingCalls::begin(const Frame& frame, const ChunkRef& chunk, Deadline deadline,
                                            OwnedPass& pass) {
  const std::uint64_t bytes = frame.header.attachment_bytes;
  if (auto refusal = admission_.refuse_announced(bytes, announced_)) return refusal;
  Result<Buffer> landing = link_.connection().landing_memory(bytes);
  if (!landing.ok()) return no_memory_to_land(landing.status());
  const bool copied = !stays_in_chunk(frame.body, chunk);
  const Charge charge{.kept = sizeof(ArrivingCall) + (copied ? frame.body.size() : chunk->capacity())};
  if (auto refusal = admission_.admit(charge)) return refusal;
  try {
    KeptBody kept{link_.memory(), charge.kept};
    if (copied) kept.copy(frame.body);
    table_.reserve_one();
    auto call = std::make_unique<ArrivingCall>(
        *this, owner_, admission_, frame, copied ? ChunkRef{} : chunk, std::move(kept), charge.kept,
        ArrivingBuffer{*std::move(landing), link_.memory().shared()}, deadline);
    call->keep_pass(std::move(pass));
    insert(*call.release());
    return std::nullopt;
  } catch (const std::bad_alloc&) {
    admission_.leave(charge.kept);
    return over_process_memory();
  }
}

Status ArrivingCalls::ask_for(ArrivingAttachment& attachment) noexcept {
  if (peer_ended_) return Status::of<kPeerEndedBefore>();
  try {
    table_.reserve_one();
  } catch (const std::bad_alloc&) {
    return Status::of<kNoMemoryToAsk>();
  }
  if (!send_continue(attachment.id())) return Status::of<kNoMemoryToAsk>();
  insert(attachment);
  return {};
}

bool ArrivingCalls::send_continue(std::uint64_t id) noexcept {
  if (link_.output().begin({.type = wire::FrameType::kContinue, .id = id}) == nullptr) return false;
  link_.output().end();
  return true;
}

Landing ArrivingCalls::land_following(ArrivingAttachment& attachment) noexcept {
  landing_ = &attachment;
  landing_bytes_ = attachment.bytes();
  return attachment.place(landing_bytes_);
}

void ArrivingCalls::on_following_end(bool landed) {
  ArrivingAttachment* const attachment = std::exchange(landing_, nullptr);
  if (attachment != nullptr && landed) this->landed(*attachment, landing_bytes_);
}

Result<ArrivingBuffer> ArrivingCalls::landing_memory(std::size_t bytes) {
  if (auto refusal = admission_.refuse_announced(bytes, announced_)) return std::move(refusal->status);
  Result<Buffer> memory = link_.connection().landing_memory(bytes);
  if (!memory.ok()) return std::move(memory).status();
  return ArrivingBuffer{*std::move(memory), link_.memory().shared()};
}

Result<Landing> ArrivingCalls::on_piece(wire::PieceView piece) {
  landing_ = nullptr;
  ArrivingAttachment* const attachment = table_.find(piece.id());
  if (attachment == nullptr || attachment->is_given_up()) return Landing::skip();
  if (!attachment->expects(piece)) return misplaced_piece(piece);
  landing_ = attachment;
  landing_bytes_ = static_cast<std::size_t>(piece.bytes());
  return attachment->place(landing_bytes_);
}

void ArrivingCalls::on_progress(std::uint64_t left) {
  if (landing_ != nullptr) charge(*landing_, landing_->received() + landing_bytes_ - left);
}

void ArrivingCalls::on_piece_end(wire::PieceView piece) {
  ArrivingAttachment* const attachment = std::exchange(landing_, nullptr);
  if (attachment != nullptr) landed(*attachment, static_cast<std::size_t>(piece.bytes()));
}

void ArrivingCalls::landed(ArrivingAttachment& attachment, std::size_t bytes) {
  attachment.landed(bytes);
  if (attachment.is_given_up()) {
    leave(attachment);
    return attachment.on_given_up();
  }
  if (!charge(attachment, attachment.received()) || !attachment.is_whole()) return;
  if (attachment.deadline().expired(link_.loop().now())) {
    remove(attachment);
    return attachment.on_failed(Status::of<kTooLate>());
  }
  leave(attachment);
  attachment.on_whole();
}

void ArrivingCalls::cancel(std::uint64_t id) {
  if (ArrivingAttachment* const attachment = table_.find(id)) give_up(*attachment);
}

void ArrivingCalls::give_up(ArrivingAttachment& attachment) {
  if (attachment.is_given_up()) return;
  if (landing_ == &attachment && !link_.connection().gives_back_at_once(Carrier::Lent::kLanding)) {
    attachment.give_up(link_.loop().read_clock() + kLandingBackWithin);
    return link_.loop().arm(attachment.timer(), link_.loop().now() + kLandingLook);
  }
  remove(attachment);
  attachment.on_given_up();
}

// Pieces that still arrive for the attachment are skipped.
void ArrivingCalls::remove(ArrivingAttachment& attachment) noexcept {
  if (landing_ == &attachment) {
    landing_ = nullptr;
    link_.connection().abandon_landing();
  }
  leave(attachment);
}

// Abandoned attachments stay: they wait for a device, which goes on by itself.
bool ArrivingCalls::end_some() {
  peer_ended_ = true;
  std::size_t ended = 0;
  IntrusiveList<ArrivingAttachment, ArrivingAttachmentTag> given_up;
  while (!arriving_.empty() && ended < kCallsEndedAtOnce) {
    ArrivingAttachment& attachment = arriving_.front();
    if (attachment.is_given_up()) {
      given_up.push_back(arriving_.pop_front());
      continue;
    }
    remove(attachment);
    attachment.on_failed(Status::of<kPeerEndedBefore>());
    ++ended;
  }
  arriving_.splice_back(given_up);
  return ended != 0;
}

bool ArrivingCalls::drop_some(std::size_t& left) noexcept {
  if (ArrivingAttachment* const attachment = std::exchange(landing_, nullptr)) {
    if (!attachment->linked()) {  // it follows its frame
      leave(*attachment);
      attachment->on_lost();
    }
  }
  for (; !arriving_.empty(); --left) {
    if (left == 0) return false;
    ArrivingAttachment& attachment = arriving_.front();
    leave(attachment);
    attachment.on_lost();
  }
  return true;
}

void ArrivingCalls::on_time(ArrivingAttachment& attachment) {
  if (attachment.is_given_up()) {
    const bool is_late = link_.loop().read_clock() >= attachment.given_up_until();
    if (!is_late && !link_.connection().gives_back_at_once(Carrier::Lent::kLanding)) {
      return link_.loop().arm(attachment.timer(), link_.loop().now() + kLandingLook);
    }
    remove(attachment);
    return attachment.on_given_up();
  }
  const TimePoint now = link_.loop().now();
  if (attachment.deadline().expired(now)) {
    remove(attachment);
    return attachment.on_failed(Status::of<kTooLate>());
  }
  // While receiving is paused, pieces may be there that are not looked for.
  if (link_.connection().is_paused()) return arm(attachment);
  const TimePoint fair = link_.loop().turn_time().absence().judge_from(link_.limits().frame_timeout);
  if (fair > now) return link_.loop().arm(attachment.timer(), fair);
  const TimePoint due = attachment.timer().at();
  if (!link_.connection().has_looked(due)) return link_.loop().arm(attachment.timer(), due);
  const std::uint64_t received = link_.connection().stats().bytes_received;
  if (attachment.getting_on().look(attachment.received(), attachment.bytes(), received)) {
    return arm(attachment);
  }
  refusals_.count(RefusalReason::kAttachmentStalled);
  remove(attachment);
  attachment.on_failed(Status::of<kStoodStill>());
}

void ArrivingCalls::insert(ArrivingAttachment& attachment) noexcept {
  table_.insert(attachment);
  arriving_.push_back(attachment);
  announced_ += attachment.announced();
  attachment.getting_on().begin(link_.connection().stats().bytes_received);
  arm(attachment);
}

void ArrivingCalls::arm(ArrivingAttachment& attachment) {
  const Deadline slow = Deadline::after(link_.loop().now(), link_.limits().frame_timeout);
  link_.loop().arm(attachment.timer(), attachment.deadline().earlier(slow).at());
}

// Charges its first `arrived` bytes. Returns false when there is no room for them: the attachment has ended.
bool ArrivingCalls::charge(ArrivingAttachment& attachment, std::size_t arrived) {
  if (attachment.is_given_up()) return true;
  const std::optional<Refusal> refusal = attachment.charge(arrived);
  if (!refusal) return true;
  remove(attachment);
  attachment.on_refused(*refusal);
  return false;
}

// One that follows its frame is in no table.
void ArrivingCalls::leave(ArrivingAttachment& attachment) noexcept {
  if (attachment.timer().armed()) link_.loop().disarm(attachment.timer());
  if (!attachment.linked()) return;
  table_.erase(attachment);
  attachment.unlink();
  announced_ -= attachment.announced();
}

}  // namespace weft::detail
