// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/transport/stream_framer.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "weft/detail/base/assert.hpp"
#include "weft/detail/transport/queued_attachment.hpp"
#include "weft/detail/wire/crc32c.hpp"
#include "weft/detail/wire/heads.hpp"
#include "weft/detail/wire/hello.hpp"

namespace weft::detail {

namespace {

// With less room than this in a chunk that others look at too, another is taken: receives stay large.
constexpr std::size_t kRoomMin = 4096;
// A frame in parts makes progress with this many bytes, or with this share of it if that is more: a trickle
// holds memory for at most kPartsMax waits.
constexpr std::uint64_t kPartBytes = 64 * 1024;
constexpr std::uint64_t kPartsMax = 1024;

// What follows the header, which was checked: its padding and its checksum.
inline wire::FrameFault check_body(const std::byte* head, std::uint32_t body_bytes, bool checksums) noexcept {
  if (!wire::padding_is_zero(head, wire::kHeaderBytes + body_bytes)) return wire::FrameFault::kPadding;
  if (checksums && !wire::checksum_matches(head, body_bytes)) return wire::FrameFault::kChecksum;
  return wire::FrameFault::kNone;
}

constexpr std::size_t tail_bytes(std::uint64_t attachment_bytes, bool checksum) {
  return static_cast<std::size_t>(wire::padded(attachment_bytes) - attachment_bytes) + (checksum ? 8 : 0);
}

// The bytes behind an attachment, or behind a body that was skipped: its padding and, with checksums,
// `checksum`.
wire::FrameFault check_tail(Bytes tail, bool checksums, std::uint32_t checksum) noexcept {
  const std::size_t padding = tail.size() - (checksums ? 8 : 0);
  for (const std::byte zero : tail.first(padding)) {
    if (zero != std::byte{0}) return wire::FrameFault::kPadding;
  }
  if (checksums && load_le<std::uint64_t>(tail.data() + padding) != checksum) {
    return wire::FrameFault::kChecksum;
  }
  return wire::FrameFault::kNone;
}

// An attachment of `bytes` and the `tail` behind it.
wire::FrameFault check_whole(const std::byte* attachment, std::size_t bytes, std::size_t tail,
                             bool checksums) noexcept {
  const std::uint32_t checksum = checksums ? wire::crc32c({attachment, bytes}) : 0;
  return check_tail({attachment + bytes, tail}, checksums, checksum);
}

}  // namespace

// The frames of one receive, on the stack and not cleared first: the common batch is short.
class StreamFramer::Batch {
 public:
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  // The place of the next frame, which is in the batch once keep() was called. Holds no value before; a
  // Frame's lifetime begins with its storage.
  Frame& next() { return *std::launder(reinterpret_cast<Frame*>(storage_ + size_ * sizeof(Frame))); }
  void keep() { ++size_; }
  std::span<const Frame> frames() const {
    return {std::launder(reinterpret_cast<const Frame*>(storage_)), size_};
  }

 private:
  static_assert(std::is_trivially_copyable_v<Frame>);
  alignas(Frame) std::byte storage_[kBatchMax * sizeof(Frame)];
  std::size_t size_ = 0;
};

bool StreamFramer::begin_with(Bytes received) noexcept {
  counters_.bytes.add(received.size());
  return stash_.put(received);
}

std::size_t StreamFramer::receive_into(std::span<iovec> places) noexcept {
  WEFT_ASSERT(wants_bytes(), "nothing is to be received now");
  const bool lands = state_ == State::kAttachment && place_.lands() && !(checksums_ && place_.is_shared());
  landing_places_ = lands ? 1 : 0;
  if (!unpark() || !have_room()) return 0;
  if (lands) [[unlikely]] {
    return receive_into_landing(places);
  }
  const std::size_t room = chunk_->capacity() - filled_;
  // Bytes that land nowhere, or not in place, come through the chunk.
  places[0] = {chunk_->data() + filled_,
               state_ == State::kAttachment ? room : room_.bounded(room, needed_, filled_ - taken_)};
  return 1;
}

// The bytes behind the attachment go into the chunk. While the places do not suffice for all of the landing,
// they come with a later receive.
std::size_t StreamFramer::receive_into_landing(std::span<iovec> places) noexcept {
  auto unlisted = static_cast<std::size_t>(attachment_left_);
  std::size_t count = place_.list(places.first(places.size() - 1), unlisted);
  landing_places_ = static_cast<std::uint16_t>(count);
  if (unlisted > 0) return count;
  places[count++] = {chunk_->data() + filled_, room_.bounded(chunk_->capacity() - filled_, 0, 0)};
  return count;
}

Status StreamFramer::received(std::size_t bytes, FrameSink& sink) {
  if (landing_places_ > 0) {
    const auto direct = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, attachment_left_));
    landed(direct);
    bytes -= direct;
  }
  ++counters_.receives;
  counters_.bytes.add(bytes);
  filled_ += bytes;
  if (chunk_) room_.fill(*chunk_, bytes);
  room_.received(bytes, needed_, chunk_ && filled_ == chunk_->capacity() ? filled_ - taken_ : 0);
  if (state_ != State::kAttachment) room_.expect_piece(false);
  return parse(sink);
}

Status StreamFramer::received_chunk(ChunkRef chunk, FrameSink& sink) {
  taken_ = 0;
  filled_ = chunk->capacity();
  ++counters_.receives;
  counters_.bytes.add(filled_);
  chunk_ = std::move(chunk);
  return parse(sink);
}

Status StreamFramer::resume(FrameSink& sink) {
  if (!unpark()) {
    return {StatusCode::kResourceExhausted, Layer::kTransport, "no memory to go on receiving", 0,
            Retry::kReconnect};
  }
  return parse(sink);
}

std::uint64_t StreamFramer::handed_up() const noexcept {
  const std::uint64_t parsed = counters_.bytes.get() - pending_bytes();
  const wire::FrameHeader& header = frame_.header;
  switch (state_) {
    case State::kSkipHead:
      return parsed - (wire::kHeaderBytes + header.body_bytes - attachment_left_);
    case State::kAttachment:
    case State::kTail:
      return parsed - wire::head_bytes(header.body_bytes, checksums_) -
             (header.attachment_bytes - attachment_left_);
    default:
      return parsed;
  }
}

Status StreamFramer::ended() const {
  if (!inside()) return {};
  std::string_view what = "inside a frame";
  if (state_ == State::kHello) what = pending_bytes() == 0 ? "before its hello" : "inside its hello";
  return {StatusCode::kUnavailable, Layer::kTransport,
          [&] { return "the peer ended the stream " + std::string{what}; }};
}

void StreamFramer::abandon_landing() noexcept {
  WEFT_ASSERT(place_.lands(), "there is no landing to abandon");
  place_.end();
}

void StreamFramer::release() noexcept {
  chunk_.reset();
  frame_chunk_.reset();
  stash_.release();
  taken_ = filled_ = 0;
  place_.end();
}

Status StreamFramer::parse(FrameSink& sink) {
  Status failure;
  while (wants_bytes() && frames_left_ != 0 && step(sink, failure) == Step::kOn) {
  }
  return failure;
}

StreamFramer::Step StreamFramer::step(FrameSink& sink, Status& failure) {
  switch (state_) {
    case State::kHello:
      return step_hello(sink, failure);
    case State::kFrames:
      return step_frames(sink, failure);
    case State::kSkipHead:
      return step_skip_head(sink, failure);
    case State::kAttachment:
      return step_attachment();
    case State::kTail:
      return step_tail(sink, failure);
  }
  return Step::kNeedBytes;
}

StreamFramer::Step StreamFramer::need(std::size_t bytes) noexcept {
  needed_ = bytes;
  return Step::kNeedBytes;
}

StreamFramer::Step StreamFramer::step_hello(FrameSink& sink, Status& failure) {
  const Bytes there = pending();
  const Result<std::size_t> length = wire::hello_length(there);
  if (!length) {
    failure = length.status();
    return Step::kFailed;
  }
  if (*length == 0) return need(wire::kHelloPrefixBytes);
  if (there.size() < *length) return need(*length);
  const Result<wire::Hello> hello = wire::decode_hello(there.first(*length));
  if (!hello.ok()) {
    failure = hello.status();
    return Step::kFailed;
  }
  taken_ += *length;
  ++counters_.frames;
  --frames_left_;
  state_ = State::kFrames;
  failure = sink.on_hello(*hello);
  return failure.ok() ? Step::kOn : Step::kFailed;
}

StreamFramer::Step StreamFramer::step_frames(FrameSink& sink, Status& failure) {
  Batch batch;
  Step outcome = Step::kOn;
  wire::FrameFault found = wire::FrameFault::kNone;
  wire::FrameHeader faulty;
  const std::byte* at = pending().data();
  const std::byte* const end = at + pending_bytes();
  const bool checksums = checksums_;
  const wire::FrameLimits limits = limits_;
  const std::size_t batch_max = std::min<std::size_t>(batch_max_, frames_left_);
  while (batch.size() < batch_max) {
    const auto left = static_cast<std::size_t>(end - at);
    if (left < wire::kHeaderBytes) {
      outcome = need(wire::kHeaderBytes);
      break;
    }
    Frame& frame = batch.next();
    std::memcpy(&frame.header, at, wire::kHeaderBytes);
    found = wire::check_header(frame.header, limits);
    const std::uint32_t body_bytes = frame.header.body_bytes;
    const auto size = static_cast<std::size_t>(wire::head_bytes(body_bytes, checksums));
    if (found == wire::FrameFault::kNone) [[likely]] {
      if (left < size) {
        const bool large = room_.is_large(size) && batch.empty();
        if (large && !sink.wants_body(frame.header, {at, left})) return begin_skip(frame.header);
        if (large) room_.expect(size);
        outcome = need(size);
        break;
      }
      found = check_body(at, body_bytes, checksums);
    }
    if (found != wire::FrameFault::kNone) [[unlikely]] {
      faulty = frame.header;
      break;
    }
    frame.body = {at + wire::kHeaderBytes, body_bytes};
    const std::uint64_t following = frame.header.following_bytes();
    if (following != 0) [[unlikely]] {
      const std::size_t tail = following <= kWholeAttachmentMax ? tail_bytes(following, checksums) : 0;
      const auto whole = static_cast<std::size_t>(size + following + tail);
      if (following <= kWholeAttachmentMax && !room_.is_large(whole) && sink.takes_whole(frame.header)) {
        // No more is kept for it than for a body.
        if (left < whole) {
          outcome = need(whole);
          break;
        }
        found = check_whole(at + size, static_cast<std::size_t>(following), tail, checksums);
        if (found != wire::FrameFault::kNone) [[unlikely]] {
          faulty = frame.header;
          break;
        }
        batch.keep();
        at += whole;
        continue;
      }
      if (!batch.empty()) break;  // those before it are handed up first
      frame_ = frame;
      frame_chunk_ = chunk_;
      taken_ += size;
      ++parts_;
      return begin_attachment(sink);
    }
    batch.keep();
    at += size;
  }
  if (!batch.empty()) {
    taken_ = static_cast<std::size_t>(at - chunk_->data());
    counters_.frames.add(batch.size());
    frames_left_ -= batch.size();
    failure = sink.on_frames(batch.frames(), chunk_);
    if (!failure.ok()) return Step::kFailed;
    if (halted_) return Step::kNeedBytes;
  }
  if (found == wire::FrameFault::kNone) return outcome;
  failure = wire::fault_status(found, faulty, limits_);
  return Step::kFailed;
}

StreamFramer::Step StreamFramer::begin_skip(const wire::FrameHeader& header) noexcept {
  frame_ = {header, {}};
  attachment_left_ = wire::kHeaderBytes + header.body_bytes;
  attachment_checksum_ = 0;
  state_ = State::kSkipHead;
  return Step::kOn;
}

StreamFramer::Step StreamFramer::step_skip_head(FrameSink& sink, Status& failure) {
  const Bytes there = pending();
  const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(there.size(), attachment_left_));
  if (checksums_) attachment_checksum_ = wire::crc32c(there.first(part), attachment_checksum_);
  taken_ += part;
  count_part(part);
  if (attachment_left_ > 0) return need(1);
  const std::size_t size = tail_bytes(frame_.header.body_bytes, checksums_);
  if (pending_bytes() < size) return need(size);
  const wire::FrameFault found = check_tail(pending().first(size), checksums_, attachment_checksum_);
  if (found != wire::FrameFault::kNone) {
    failure = wire::fault_status(found, frame_.header, limits_);
    return Step::kFailed;
  }
  taken_ += size;
  if (frame_.header.following_bytes() != 0) {
    ++parts_;
    return begin_attachment(sink);
  }
  ++counters_.frames;
  state_ = State::kFrames;
  --frames_left_;
  failure = sink.on_frames({&frame_, 1}, chunk_);
  return failure.ok() ? Step::kOn : Step::kFailed;
}

// The head of frame_ is whole: the sink says where its attachment goes.
StreamFramer::Step StreamFramer::begin_attachment(FrameSink& sink) {
  const Landing landing = sink.on_attachment(frame_);
  WEFT_ASSERT(landing.kind == Landing::Kind::kSkip || landing.bytes == frame_.header.attachment_bytes,
              "a landing is as long as the attachment");
  room_.expect_piece(frame_.header.type == wire::FrameType::kPiece);
  place_.begin(landing);
  attachment_left_ = frame_.header.attachment_bytes;
  attachment_checksum_ = 0;
  state_ = State::kAttachment;
  return Step::kOn;
}

StreamFramer::Step StreamFramer::step_attachment() {
  const Bytes there = pending();
  const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(there.size(), attachment_left_));
  if (part > 0) {
    if (place_.lands()) place_.put(there.first(part));
    if (checksums_) attachment_checksum_ = wire::crc32c(there.first(part), attachment_checksum_);
    taken_ += part;
    count_part(part);
  }
  if (attachment_left_ > 0) return need(1);
  state_ = State::kTail;
  return Step::kOn;
}

void StreamFramer::landed(std::size_t bytes) noexcept {
  counters_.bytes.add(bytes);
  if (place_.lands()) place_.pass(bytes, checksums_ ? &attachment_checksum_ : nullptr);
  count_part(bytes);
}

// Records `bytes` of a frame that arrives in parts.
void StreamFramer::count_part(std::size_t bytes) noexcept {
  const std::uint64_t whole = state_ == State::kSkipHead ? 0 : frame_.header.attachment_bytes;
  const std::uint64_t step = std::max(kPartBytes, whole / kPartsMax);
  const std::uint64_t before = attachment_left_;
  attachment_left_ -= bytes;
  if (attachment_left_ / step != before / step) ++parts_;
}

StreamFramer::Step StreamFramer::step_tail(FrameSink& sink, Status& failure) {
  const std::size_t size = tail_bytes(frame_.header.attachment_bytes, checksums_);
  const Bytes there = pending();
  if (there.size() < size) return need(size);
  const wire::FrameFault found = check_tail(there.first(size), checksums_, attachment_checksum_);
  if (found != wire::FrameFault::kNone) {
    failure = wire::fault_status(found, frame_.header, limits_);
    return Step::kFailed;
  }
  taken_ += size;
  ++counters_.frames;
  state_ = State::kFrames;
  --frames_left_;
  const bool landed = place_.end();
  const ChunkRef chunk = std::move(frame_chunk_);
  failure = sink.on_attachment_end(frame_, chunk, landed);
  return failure.ok() ? Step::kOn : Step::kFailed;
}

// Where in the byte stream, modulo 8, the next byte belongs that goes into a chunk.
std::size_t StreamFramer::position() const noexcept {
  if (filled_ != taken_) return taken_ & 7;
  const std::uint64_t attachment = frame_.header.attachment_bytes;
  if (state_ == State::kSkipHead) return (frame_.header.body_bytes - attachment_left_) & 7;
  if (state_ == State::kTail) return attachment & 7;
  if (state_ == State::kAttachment) return (attachment - (landing_places_ > 0 ? 0 : attachment_left_)) & 7;
  return 0;
}

// Ensures that chunk_ has room behind filled_: for the needed bytes, or for as many of them as the arrived
// bytes justify. Moves present bytes to the front if the chunk has no other user.
bool StreamFramer::have_room() noexcept {
  const std::size_t there = filled_ - taken_;
  const std::size_t begin = position();
  const bool sole = chunk_ && chunk_->references() == 1;
  if (there == 0 && sole && !room_.is_standard(*chunk_)) chunk_.reset();
  // A long frame does not begin behind another one, whose chunk may be kept, if the pool has kept a chunk.
  if (room_.wishes_more(needed_) && (!chunk_ || (sole && room_.wishes_more(chunk_->capacity())) ||
                                     (!sole && there == 0 && room_.expects_long()))) [[unlikely]] {
    if (ChunkRef roomy = room_.take_wished(begin, there)) return move_to(std::move(roomy), begin);
  }
  if (chunk_) {
    if (there == 0) taken_ = filled_ = (sole ? 0 : wire::padded(filled_)) + begin;
    // A long frame stays where it is if there is room for the rest of it.
    if (sole && taken_ > begin && !(room_.is_large(needed_) && taken_ + needed_ <= chunk_->capacity())) {
      std::memmove(chunk_->data() + begin, chunk_->data() + taken_, there);
      taken_ = begin;
      filled_ = begin + there;
    }
    const std::size_t room_min = sole ? 1 : kRoomMin;
    const std::size_t whole_min = std::min(needed_, room_.standard_bytes());
    if (filled_ + room_min <= chunk_->capacity() && taken_ + whole_min <= chunk_->capacity()) return true;
  }
  return move_to(room_.take_needed(begin, needed_, there), begin);
}

bool StreamFramer::move_to(ChunkRef chunk, std::size_t begin) noexcept {
  if (!chunk) return false;
  const std::size_t there = filled_ - taken_;
  if (there > 0) std::memcpy(chunk->data() + begin, chunk_->data() + taken_, there);
  taken_ = begin;
  filled_ = begin + there;
  chunk_ = std::move(chunk);
  return true;
}

// A part too long to be put aside waits in a chunk; a small frame in a chunk no larger than the arrived bytes
// justify, and so does any frame when too much is unfilled. While nothing is wanted, neither the peer's
// slowness nor chunks shared with other users are noticed: then nothing counts.
void StreamFramer::park() noexcept {
  const std::size_t there = filled_ - taken_;
  if (there != 0 && !stash_.put(pending())) {
    ChunkRef smaller = room_.take_smaller(taken_ & 7, needed_, there, *chunk_, wants_bytes());
    if (smaller) move_to(std::move(smaller), taken_ & 7);
  } else if (chunk_) {
    taken_ = filled_ = taken_ & 7;
    chunk_.reset();
  }
  if (frame_chunk_ && frame_chunk_->references() == 1) [[unlikely]] {
    room_.fit(frame_.body, frame_chunk_);
  }
}

// Brings what park() put aside back into a chunk.
bool StreamFramer::unpark() noexcept {
  if (stash_.size() == 0) return true;
  ChunkRef chunk = room_.take(taken_ + stash_.size());
  if (!chunk) return false;
  filled_ = taken_ + stash_.size();
  stash_.take(chunk->data() + taken_);
  chunk_ = std::move(chunk);
  return true;
}

}  // namespace weft::detail
