// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "weft/detail/transport/attachment_place.hpp"
#include "weft/detail/transport/connection_counters.hpp"
#include "weft/detail/transport/frame_sink.hpp"
#include "weft/detail/transport/receive_room.hpp"
#include "weft/detail/transport/stash.hpp"

namespace weft::detail {

/// Cuts the byte stream into the hello and frames and hands them up; the part of a connection that a peer's
/// bytes reach. Does no I/O: receive_into() says where the next bytes belong, received() that they are
/// there. Thread: the loop of `chunks`.
///
/// States:
///   kHello        the peer's hello is not whole
///   kFrames       between frames, or inside a head (header, body, checksum)
///   kSkipHead     inside a head whose body the sink does not want: it is dropped as it comes
///   kAttachment   the attachment's bytes go to place_
///   kTail         the attachment's padding and checksum
///
/// Bytes that were received and not yet taken are [taken_, filled_) of chunk_, or of stash_ after park().
/// Addresses in chunks and positions in the byte stream are equal modulo 8, so that every body is aligned.
class StreamFramer {
 public:
  static constexpr std::size_t kBatchMax = 64;

  /// Hands up `frames_left` frames, which it counts down and others may too, and no more until resume() once
  /// there are some again. All outlive it.
  StreamFramer(ChunkPool& chunks, const wire::FrameLimits& limits, std::size_t& frames_left) noexcept
      : room_(chunks), limits_(limits), frames_left_(frames_left) {}
  StreamFramer(const StreamFramer&) = delete;
  StreamFramer& operator=(const StreamFramer&) = delete;

  /// Takes bytes that were received before this framer existed; resume() delivers them. Before anything else.
  /// Returns false when memory is exhausted, or for more bytes than a Stash holds.
  bool begin_with(Bytes received) noexcept;
  /// Lists the destinations of the next received bytes in `places`, in order: runs of the landing first, if
  /// there is one, and with the last of them also a chunk. Returns the number of entries; 0 when memory is
  /// exhausted. `places` has two or more entries; at most AttachmentPlace::kPlacesMax are used. Only while
  /// wants_bytes().
  std::size_t receive_into(std::span<iovec> places) noexcept;
  /// Records that `bytes` were received there, and delivers the frames that are whole. A failure comes from
  /// the sink, or is a fault of the peer's; the framer is unusable then.
  Status received(std::size_t bytes, FrameSink& sink);
  /// Nothing is pending, and the next bytes begin a frame: received_chunk() may follow instead.
  bool between_frames() const noexcept { return state_ == State::kFrames && pending_bytes() == 0; }
  /// Receives all bytes of `chunk`; they are read in place, and kept as long as that takes.
  Status received_chunk(ChunkRef chunk, FrameSink& sink);
  /// Continues with bytes received before, after a pause(), or when no frames were left.
  Status resume(FrameSink& sink);
  /// No more bytes are available for now: frees memory that is not needed while waiting.
  void park() noexcept;
  /// The peer ended its byte stream: ok between two frames.
  Status ended() const;

  bool wants_bytes() const noexcept { return !halted_ && !paused_; }
  /// The peer owes the rest of something.
  bool inside() const noexcept { return state_ != State::kFrames || pending_bytes() != 0; }
  /// Grows while the peer makes progress: by whole frames, every 64 KiB of a body, and every 64 KiB or 1024th
  /// part of an attachment, whichever is more. A number that does not change while inside() means a peer that
  /// is too slow.
  std::uint64_t progress() const noexcept {
    return ((counters_.frames.get() + parts_) << 16) + (pending_bytes() >> 16);
  }
  /// Position in the byte stream at which the first frame begins that was not handed up whole. Inside a
  /// callback the frames of that callback may count as handed up.
  std::uint64_t handed_up() const noexcept;

  /// Counters of received bytes and frames. Thread: any.
  const ReceiveCounters& counters() const noexcept { return counters_; }

  void use_checksums() noexcept { checksums_ = true; }
  /// Stops or resumes delivery, even within a batch of callbacks that is under way; resume() continues after
  /// the next pause(false). Returns the previous setting.
  bool pause(bool paused) noexcept { return std::exchange(paused_, paused); }
  /// Hands up frames one by one, so that each may change how the next is read; until ended by `false`.
  void go_singly(bool singly) noexcept { batch_max_ = singly ? 1 : kBatchMax; }
  /// Returns how many of the places that the last receive_into() listed are the landing's: the first ones.
  std::size_t landing_places() const noexcept { return landing_places_; }
  /// Bytes still missing of an attachment that lands (`lands`), or of one that is dropped unread, as is done
  /// without checksums; 0 when there is none.
  std::uint64_t attachment_left(bool lands) const noexcept {
    if (state_ != State::kAttachment || place_.lands() != lands) [[likely]]
      return 0;
    return lands || (pending_bytes() == 0 && !checksums_) ? attachment_left_ : 0;
  }
  /// Returns how long the attachment is that is being received, as a whole.
  std::uint64_t attachment_bytes() const noexcept { return frame_.header.attachment_bytes; }
  /// Records that `bytes` were moved to the landing since receive_into() without a call of received(), or
  /// that as many were dropped after attachment_left(false).
  void landed(std::size_t bytes) noexcept;
  /// Writes no more into the landing, and skips the rest. Only while there is one.
  void abandon_landing() noexcept;
  /// Hands up nothing more, ever.
  void halt() noexcept { halted_ = true; }
  /// Gives back all memory. Not from inside a callback.
  void release() noexcept;

 private:
  enum class State : std::uint8_t { kHello, kFrames, kSkipHead, kAttachment, kTail };
  // The outcome of one step.
  enum class Step : std::uint8_t { kOn, kNeedBytes, kFailed };
  class Batch;

  std::size_t pending_bytes() const noexcept { return filled_ - taken_ + stash_.size(); }
  Bytes pending() const noexcept {
    return chunk_ ? Bytes{chunk_->data() + taken_, filled_ - taken_} : Bytes{};
  }
  [[gnu::noinline]] std::size_t receive_into_landing(std::span<iovec> places) noexcept;
  Status parse(FrameSink& sink);
  Step step(FrameSink& sink, Status& failure);
  Step step_hello(FrameSink& sink, Status& failure);
  Step step_frames(FrameSink& sink, Status& failure);
  Step begin_attachment(FrameSink& sink);
  Step begin_skip(const wire::FrameHeader& header) noexcept;
  Step step_skip_head(FrameSink& sink, Status& failure);
  Step step_attachment();
  Step step_tail(FrameSink& sink, Status& failure);
  Step need(std::size_t bytes) noexcept;
  void count_part(std::size_t bytes) noexcept;
  bool have_room() noexcept;
  std::size_t position() const noexcept;
  bool move_to(ChunkRef chunk, std::size_t begin) noexcept;
  bool unpark() noexcept;

  ReceiveRoom room_;
  const wire::FrameLimits& limits_;
  std::size_t& frames_left_;
  ChunkRef chunk_;
  std::size_t taken_ = 0;
  std::size_t filled_ = 0;
  /// Number of bytes that the next step needs, from taken_ on.
  std::size_t needed_ = 1;
  ReceiveCounters counters_;
  /// Number of incomplete frame heads, and of parts of frames that arrive in parts.
  std::uint64_t parts_ = 0;
  Stash stash_;
  std::uint8_t batch_max_ = kBatchMax;
  State state_ = State::kHello;
  bool checksums_ = false;
  bool paused_ = false;
  bool halted_ = false;
  /// Places of the last receive_into(); not 0 when that began with the landing.
  std::uint16_t landing_places_ = 0;
  /// Checksum of the attachment so far; in kSkipHead, of the head.
  std::uint32_t attachment_checksum_ = 0;
  /// Place of the rest of the attachment, and its length; in kSkipHead, how much of header and body is
  /// still to come.
  AttachmentPlace place_;
  std::uint64_t attachment_left_ = 0;
  /// The frame whose attachment is being received, and its body's chunk.
  Frame frame_;
  ChunkRef frame_chunk_;
};

}  // namespace weft::detail
