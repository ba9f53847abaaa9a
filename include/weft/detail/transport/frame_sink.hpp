// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/run_cursor.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/memory/chunk_pool.hpp"
#include "weft/detail/wire/frame.hpp"
#include "weft/detail/wire/hello.hpp"

namespace weft::detail {

/// One received frame. `header` was checked; `body` points into `chunk`. Code that keeps `body` beyond the
/// callback retains `chunk`.
struct Frame {
  wire::FrameHeader header;
  Bytes body;
};

/// The longest attachment that may be handed up with its frame, see FrameSink::takes_whole(). Longer ones are
/// worth going to their place without a detour.
inline constexpr std::size_t kWholeAttachmentMax = 16 * 1024;

/// Attachment of a `frame` that was handed up with it.
inline Bytes whole_attachment(const Frame& frame, bool checksums) noexcept {
  const std::size_t body = static_cast<std::size_t>(wire::padded(frame.body.size())) + (checksums ? 8 : 0);
  return {frame.body.data() + body, static_cast<std::size_t>(frame.header.following_bytes())};
}

/// The place that the attachment of a frame goes to.
struct Landing {
  enum class Kind : std::uint8_t {
    kInto,  ///< into the next `bytes` behind `place`, which are as many as the attachment has and stay until
            ///< landed, abandoned or closed
    kSkip,  ///< read and drop it
  };
  Kind kind = Kind::kSkip;
  RunCursor<std::byte> place{};
  std::size_t bytes = 0;

  static Landing into(MutableBytes memory) { return into(RunCursor{MemoryRuns{memory}}, memory.size()); }
  /// Makes one into `bytes` of a list, which may go on behind them.
  static Landing into(const RunCursor<std::byte>& place, std::size_t bytes) {
    return {Kind::kInto, place, bytes};
  }
  static Landing skip() { return {}; }
};

/// Receives the frames and events of a connection. Called in turns of the connection's loop, never from
/// inside a call that the sink makes to the connection, and never after on_closed. The sink may not destroy
/// the connection inside a callback; closing it there drops the bytes received after the frames just
/// delivered.
class FrameSink {
 public:
  /// The peer's hello, once, before everything else. A failure closes the connection with it.
  virtual Status on_hello(const wire::Hello& hello) = 0;
  /// Delivers the frames of one receive, in order (in bounded batches): frames without an attachment, and
  /// frames for which takes_whole() is true, whose whole_attachment() lies in the same chunk. A failure
  /// closes the connection with it; later frames of the batch count as not received.
  virtual Status on_frames(std::span<const Frame> frames, const ChunkRef& chunk) = 0;
  /// Called when a frame has begun whose head is larger than a standard chunk and incomplete; `arrived` is
  /// its beginning, from the header on. Return false to read and drop its body: the frame is then delivered
  /// with an empty `body` although `header.body_bytes` is not zero. Called again each time more of it has
  /// arrived.
  virtual bool wants_body(const wire::FrameHeader& header, Bytes arrived) {
    static_cast<void>(header);
    static_cast<void>(arrived);
    return true;
  }
  /// Called for the frame with `header` whose attachment follows the one that is landing, with nothing
  /// between them except such frames and attachments. Returns its landing, if already known: the memory stays
  /// until on_attachment() of that frame, which returns the same landing or skips it, or until
  /// Connection::abandon_landing() of kAhead. May be called again for the same frame. Only for frames without
  /// checksums.
  virtual Landing on_attachment_ahead(const wire::FrameHeader& header) {
    static_cast<void>(header);
    return Landing::skip();
  }
  /// A frame with `header`, which was checked, is arriving with an attachment of at most kWholeAttachmentMax
  /// bytes. Return true to receive it by on_frames() when it is complete. Called again when more of it has
  /// arrived.
  virtual bool takes_whole(const wire::FrameHeader& header) const {
    static_cast<void>(header);
    return false;
  }
  /// A frame with an attachment has arrived except for the attachment. Its body may move until that ends.
  virtual Landing on_attachment(const Frame& frame) = 0;
  /// Called when more of the attachment has landed and `left` bytes of it are still to come. The last bytes
  /// are reported by on_attachment_end() alone.
  virtual void on_attachment_progress(std::uint64_t left) { static_cast<void>(left); }
  /// The frame is whole: its attachment is where on_attachment said (`landed`), or was skipped or abandoned.
  virtual Status on_attachment_end(const Frame& frame, const ChunkRef& chunk, bool landed) = 0;
  /// No more bytes are queued than Connection::tell_when_drained() said.
  virtual void on_drained() = 0;
  /// Called when the peer has ended its side, between two frames, and everything queued for it has left.
  /// Return true if more will be queued: the connection stays until that has left too, and calls again.
  virtual bool owes_more() { return false; }
  /// The connection is over; says why (ok = the peer ended the byte stream between two frames). The last
  /// callback. Every lease has been released before.
  virtual void on_closed(Status why) = 0;

 protected:
  ~FrameSink() = default;
};

}  // namespace weft::detail
