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

/// One frame as it was received. `header` was checked; `body` points into `chunk`, which whoever keeps `body`
/// longer than the callback retains.
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

/// Hears what a connection receives. Called in turns of the connection's loop, never from inside a call
/// that the sink makes to the connection, and never after on_closed. The sink may not destroy the connection
/// inside a callback; closing it there drops what was received after the frames that it was just given.
class FrameSink {
 public:
  /// The peer's hello, once, before everything else. A failure closes the connection with it.
  virtual Status on_hello(const wire::Hello& hello) = 0;
  /// All the frames that one receive brought, in order (bounded batches): those without attachment, and those
  /// that it takes_whole(), whose whole_attachment() lies in the same chunk.
  /// A failure closes the connection with it; the later frames of the batch are then taken as not received.
  virtual Status on_frames(std::span<const Frame> frames, const ChunkRef& chunk) = 0;
  /// A frame has begun whose head is larger than a standard chunk and not here yet; `arrived` is what is here
  /// of it, from its header on. False: its body is read and dropped, and the frame is handed up without it,
  /// `body` empty though `header.body_bytes` is not. This is asked again each time that more of it has come.
  virtual bool wants_body(const wire::FrameHeader& header, Bytes arrived) {
    static_cast<void>(header);
    static_cast<void>(arrived);
    return true;
  }
  /// The attachment of a frame with `header` comes behind the one that lands now, with nothing between them
  /// but such frames and attachments. Says where it goes, if that is known already: the memory stays until
  /// on_attachment() of that frame, which says the same place or skips it, or until
  /// Connection::abandon_landing() of what is read ahead. May be asked again for the same frame. Of frames
  /// without checksums.
  virtual Landing on_attachment_ahead(const wire::FrameHeader& header) {
    static_cast<void>(header);
    return Landing::skip();
  }
  /// A frame of `header`, which was checked, is arriving with an attachment of kWholeAttachmentMax bytes at
  /// most. True: it is handed up by on_frames() once all of it is here. Asked again when more of it has come.
  virtual bool takes_whole(const wire::FrameHeader& header) const {
    static_cast<void>(header);
    return false;
  }
  /// A frame with an attachment has arrived except for the attachment. Its body may move until that ends.
  virtual Landing on_attachment(const Frame& frame) = 0;
  /// More of the attachment has landed, and `left` bytes of it are to come. The last of them are told by
  /// on_attachment_end() alone.
  virtual void on_attachment_progress(std::uint64_t left) { static_cast<void>(left); }
  /// The frame is whole: its attachment is where on_attachment said (`landed`), or was skipped or abandoned.
  virtual Status on_attachment_end(const Frame& frame, const ChunkRef& chunk, bool landed) = 0;
  /// No more bytes are queued than Connection::tell_when_drained() said.
  virtual void on_drained() = 0;
  /// The peer has ended its side, between two frames, and all that was queued for it has left. True: more
  /// will be queued, and the connection stays until that has left too; asked again then.
  virtual bool owes_more() { return false; }
  /// The connection is over; says why (ok = the peer ended the byte stream between two frames). The last
  /// callback. Every lease has been released before.
  virtual void on_closed(Status why) = 0;

 protected:
  ~FrameSink() = default;
};

}  // namespace weft::detail
