// SPDX-License-Identifier: Apache-2.0
#include "calls/serve/answer_writer.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "calls/peers/peer_seat.hpp"
#include "calls/sending/session_link.hpp"
#include "calls/stream/session_streams.hpp"
#include "calls/terms/call_status.hpp"

namespace weft::detail {

namespace {

Refusal no_memory_for_answer() {
  return {RefusalReason::kOverProcessMemory,
          exhausted("answers that wait to be sent fill the server's memory, or this connection's share of it "
                    "(process_memory_max)")};
}

constexpr FixedFailure kBrokenOff{StatusCode::kCancelled, Layer::kRpc, Retry::kNever, "the caller gave up"};

constexpr wire::AnswerHead kNoMemory{
    .code = StatusCode::kResourceExhausted, .layer = Layer::kRpc, .retry = Retry::kBackoff};

// A slower transfer could not be distinguished from a stalled one.
std::uint64_t kept_rate(std::uint64_t wanted, std::uint64_t bytes, SessionLink& link) {
  if (wanted == 0 || wanted > Pace::kRateMax) return 0;
  return std::max(wanted, link.transfers().least_rate(bytes, link.limits().frame_timeout));
}

}  // namespace

AnswerWriter::AnswerWriter(SessionLink& link, CallsHost& host, ServedCalls& served)
    : AnswerSink(link.connection_id()), link_(link), host_(host), served_(served) {}

bool AnswerWriter::break_off(std::uint64_t id) {
  AnswerTransfer* const transfer = leaving_ != nullptr ? leaving_->find(id) : nullptr;
  if (transfer == nullptr || !transfer->linked()) return false;
  link_.transfers().remove(*transfer);
  transfer->stop();
  const Status given_up = Status::of<kBrokenOff>();
  send_failure(id, failure_head(given_up), given_up.message());
  return true;
}

bool AnswerWriter::wake_some(std::size_t& left) {
  for (; left > 0 && !room_waiters_.empty(); --left) {
    link_.loop().schedule(room_waiters_.pop_front().node);
  }
  return room_waiters_.empty();
}

void AnswerWriter::wake_room_waiter() {
  if (room_waiters_.empty() || !has_room()) return;
  link_.loop().schedule(room_waiters_.pop_front().node);
}

inline bool AnswerWriter::admit(std::uint64_t id, std::size_t body_bytes, std::uint64_t attachment_bytes,
                                std::size_t written, std::size_t kept, wire::AnswerHead& head) {
  if (body_bytes > link_.peer().body_bytes_max) [[unlikely]] {
    fail(id, over_limit("the answer", body_bytes, link_.peer().body_bytes_max, "the caller's", kRaiseBody));
    return false;
  }
  if (attachment_bytes > link_.peer().attachment_bytes_max) [[unlikely]] {
    fail(id, over_limit("the answer's attachment", attachment_bytes, link_.peer().attachment_bytes_max,
                        "the caller's", kRaiseClientsAttachment));
    return false;
  }
  if (body_bytes > FrameOutput::kSmallBytes && !link_.output().reserve(written + wire::kHeaderBytes, kept))
      [[unlikely]] {
    const Refusal why = no_memory_for_answer();
    refuse(id, why.reason, why.status);
    return false;
  }
  head.body_bytes = static_cast<std::uint32_t>(body_bytes);
  head.id = id;
  if (attachment_bytes == 0) [[likely]] {
    return true;
  }
  head.flags = wire::FrameFlags::kAttachment;
  if (link_.transfers().splits(attachment_bytes)) head.flags |= wire::FrameFlags::kInPieces;
  head.attachment_bytes = attachment_bytes;
  return true;
}

std::byte* AnswerWriter::begin_answer(std::uint64_t id, std::size_t body_bytes,
                                      std::uint64_t attachment_bytes) {
  wire::AnswerHead head;
  if (!admit(id, body_bytes, attachment_bytes, body_bytes, 0, head)) [[unlikely]] {
    return nullptr;
  }
  return link_.output().begin(head.header());
}

ChunkPool* AnswerWriter::lending_chunks() const noexcept {
  return link_.output().lends_runs() ? &link_.loop().chunks() : nullptr;
}

std::byte* AnswerWriter::begin_answer_around(std::uint64_t id, std::size_t body_bytes,
                                             std::uint64_t attachment_bytes, const RunsInChunk& lent) {
  wire::AnswerHead head;
  const std::size_t written = body_bytes - lent.runs.bytes();
  if (!admit(id, body_bytes, attachment_bytes, written, lent.chunk->capacity(), head)) return nullptr;
  return link_.output().begin_around(head.header(), lent.runs);
}

void AnswerWriter::put_runs_in(const RunsInChunk& lent, bool attachment_follows) {
  link_.output().end_around(lent.runs, nullptr, lent.chunk, attachment_follows);
}

void AnswerWriter::end_answer() {
  link_.output().end();
}

void AnswerWriter::take_back_answer(const std::byte* body) {
  link_.output().take_back(body);
}

void AnswerWriter::end_answer_with(std::uint64_t id, Attachment& attachment,
                                   std::unique_ptr<AnswerWishes> wishes) {
  link_.output().end();
  if (!queue_transfer(id, attachment, wishes)) {
    link_.close({StatusCode::kResourceExhausted, Layer::kRpc, "out of memory for an answer's attachment"});
  }
}

// OutgoingTransfers limits the number of copied pieces of an attachment that is sent in pieces.
bool AnswerWriter::reserve_copy(std::uint64_t bytes) {
  if (!link_.output().needs_end() || link_.transfers().splits(bytes)) return true;
  return link_.output().reserve(static_cast<std::size_t>(bytes));
}

bool AnswerWriter::queue_transfer(std::uint64_t id, Attachment& attachment,
                                  std::unique_ptr<AnswerWishes>& wishes) {
  Outbox& outbox = link_.connection().outbox();
  const std::size_t bytes = attachment.size();
  const bool splits = link_.transfers().splits(bytes);
  if (wishes == nullptr && bytes != 0 && !splits && outbox.lease_policy().copies(bytes)) {
    RunCursor<const std::byte> memory{attachment.view()};
    return outbox.append_copied(memory, bytes);
  }
  const std::uint64_t rate = splits && wishes != nullptr ? kept_rate(wishes->rate, bytes, link_) : 0;
  AnswerTransfer* transfer = nullptr;
  try {
    if (splits && leaving_ == nullptr) {
      leaving_ = std::make_unique<IdTable<AnswerTransfer>>(host_.table_secret);
    }
    if (splits) leaving_->reserve_one();
    transfer = new AnswerTransfer(link_.loop(), outbox, std::move(attachment), std::move(wishes));
  } catch (const std::bad_alloc&) {
    if (wishes != nullptr) wishes->end(false);
    return false;
  }
  if (!splits) return transfer->queue_whole();
  transfer->belong_to(id, true, rate);
  transfer->enter(*leaving_);
  link_.transfers().add(*transfer, link_.loop());
  return true;
}

// Other frames are small, or answer a request each; a handler may add many pairs in one turn.
Status AnswerWriter::send_metadata(std::uint64_t id, bool initial, Bytes pairs) {
  if (!sends_metadata_ || is_gone()) return {};
  if (pairs.size() > link_.peer().body_bytes_max) {
    return over_limit("the metadata of the answer", pairs.size(), link_.peer().body_bytes_max, "the caller's",
                      kRaiseBody);
  }
  if (!link_.output().reserve(pairs.size() + wire::kHeaderBytes)) return no_memory_for_answer().status;
  const wire::AnswerMetadataHead head{
      .body_bytes = static_cast<std::uint32_t>(pairs.size()), .id = id, .initial = initial};
  link_.output().send(head.header(), as_text(pairs));
  return {};
}

void AnswerWriter::slow_down(std::uint64_t id, std::uint64_t rate) {
  AnswerTransfer* const transfer = leaving_ != nullptr ? leaving_->find(id) : nullptr;
  if (transfer == nullptr || !transfer->linked()) return;
  const std::uint64_t kept = kept_rate(rate, transfer->offset() + transfer->bytes_left(), link_);
  const std::uint64_t before = transfer->pace().rate();
  if (kept != 0 && (before == 0 || kept < before)) link_.transfers().set_rate(*transfer, kept);
}

bool AnswerWriter::has_room() const noexcept {
  return is_gone() || link_.output().has_room();
}

void AnswerWriter::forget(ServedCall& call) {
  served_.forget(call);
  wake_room_waiter();
  // One that leaves may have waited for this answer.
  if (!is_gone() && !link_.ready()) [[unlikely]] {
    link_.notify_room();
  }
}

ItemSink* AnswerWriter::streams() {
  return &link_.streams();
}

std::shared_ptr<PeerTarget> AnswerWriter::peer() {
  return is_gone() ? nullptr : link_.peer_target();
}

std::string AnswerWriter::local_endpoint() const {
  return link_.connection().local_endpoint();
}

std::string AnswerWriter::remote_endpoint() const {
  return link_.connection().remote_endpoint();
}

std::shared_ptr<void>& AnswerWriter::connection_tag() {
  return link_.seat().tag();
}

void AnswerWriter::finish() {
  link_.finish();
}

void AnswerWriter::refuse(std::uint64_t id, RefusalReason reason, const Status& why) {
  link_.count_refusal(reason, why);
  served_.counting().refused(id, why.code(), why.message());
  wire::AnswerHead head = failure_head(why);
  if (why.unprocessed()) head.flags |= wire::FrameFlags::kUnprocessed;
  send_failure(id, head, why.message(), why.details());
}

void AnswerWriter::refuse_unrun(std::uint64_t id, const Refusal& refusal) {
  link_.count_refusal(refusal.reason, refusal.status);
  served_.counting().refused(id, refusal.status.code(), refusal.status.message());
  wire::AnswerHead head = failure_head(refusal.status);
  head.flags |= wire::FrameFlags::kUnprocessed;
  if (refusal.retry_after > Duration::zero())
    head.retry_after_ms = retry_after_milliseconds(refusal.retry_after);
  send_failure(id, head, refusal.status.message(), refusal.status.details());
}

// Allocates nothing but the frame.
void AnswerWriter::refuse_without_memory(std::uint64_t id) {
  host_.refusals.count(RefusalReason::kOverProcessMemory);
  served_.counting().refused(id, kNoMemory.code);
  send_failure(id, kNoMemory, "the server is out of memory for the call");
}

void AnswerWriter::fail(std::uint64_t id, const Status& failure) {
  served_.counting().failed(id, failure.code(), failure.message());
  send_failure(id, failure_head(failure), failure.message(), failure.details());
}

// Details that the peer's limit or this side's memory leaves no room for are dropped before the text.
void AnswerWriter::send_failure(std::uint64_t id, wire::AnswerHead failure, std::string_view text,
                                std::string_view details) {
  if (is_gone()) return;
  const std::size_t most = link_.peer().body_bytes_max;
  std::size_t before = sends_details_ ? wire::padded(details.size()) : 0;
  if (before > most) before = 0;
  std::string_view message = text.substr(0, most - before);
  if (before + message.size() > FrameOutput::kSmallBytes &&
      !link_.output().reserve(before + message.size() + wire::kHeaderBytes)) [[unlikely]] {
    before = 0;
    message = message.substr(0, kShortTextBytes);
  }
  failure.id = id;
  failure.body_bytes = static_cast<std::uint32_t>(before + message.size());
  if (before != 0) failure.details_bytes = static_cast<std::uint32_t>(details.size());
  std::byte* const body = link_.output().begin(failure.header());
  if (body == nullptr) return;
  if (before != 0) {
    std::memset(body + before - sizeof(std::uint64_t), 0, sizeof(std::uint64_t));
    std::memcpy(body, details.data(), details.size());
  }
  std::memcpy(body + before, message.data(), message.size());
  link_.output().end();
}

}  // namespace weft::detail
