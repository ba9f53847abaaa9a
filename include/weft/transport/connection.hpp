// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weft/base/result.hpp"
#include "weft/base/time.hpp"
#include "weft/memory/buffer.hpp"
#include "weft/memory/chunk_pool.hpp"
#include "weft/transport/data_path.hpp"
#include "weft/transport/outbox.hpp"
#include "weft/wire/frame.hpp"
#include "weft/wire/hello.hpp"

namespace weft {

class Loop;

/// What a transport can do; what rpc asks instead of asking which transport it is.
struct Capabilities {
  /// For people and logs only.
  const char* name = "";
  /// Leased bytes of this size or more are sent without a copy.
  std::size_t lease_bytes_min = 16 * 1024;
  /// The peer is another process and may die without a word: keepalive pings make sense.
  bool peer_may_vanish = true;
};

/// One frame as it was received. `header` was checked; `body` points into `chunk`, which whoever keeps `body`
/// longer than the callback retains.
struct Frame {
  wire::FrameHeader header;
  Bytes body;
};

/// Where the attachment of a frame goes.
struct Landing {
  enum class Kind : std::uint8_t {
    kInto,  ///< into `memory`, which is exactly as long as the attachment and stays until landed, abandoned
            ///< or closed
    kSkip,  ///< read and drop it
  };
  Kind kind = Kind::kSkip;
  MutableBytes memory;

  static Landing into(MutableBytes memory) { return {Kind::kInto, memory}; }
  static Landing skip() { return {}; }
};

/// Who hears what a connection receives. Called in turns of the connection's loop, never from inside a call
/// that the sink makes to the connection, and never after on_closed. The sink may not destroy the connection
/// inside a callback; closing it there drops what was received after the frames that it was just given.
class FrameSink {
 public:
  /// The peer's whole hello, once, before everything else. A failure closes the connection with it.
  virtual Status on_hello(Bytes hello) = 0;
  /// All the frames without attachment that one receive brought, in order (bounded batches).
  /// A failure closes the connection with it; the later frames of the batch are then taken as not received.
  virtual Status on_frames(std::span<const Frame> frames, const ChunkRef& chunk) = 0;
  /// A frame has begun whose head is larger than a standard chunk and not here yet. False: its body is read
  /// and dropped, and the frame is handed up without it, `body` empty though `header.body_bytes` is not.
  /// While the body comes this may be asked again.
  virtual bool wants_body(const wire::FrameHeader& header) {
    static_cast<void>(header);
    return true;
  }
  /// A frame with an attachment has arrived except for the attachment.
  virtual Landing on_attachment(const Frame& frame) = 0;
  /// The frame is whole: its attachment is where on_attachment said (`landed`), or was skipped or abandoned.
  virtual Status on_attachment_end(const Frame& frame, const ChunkRef& chunk, bool landed) = 0;
  /// The outbox has fallen under the low-water mark after it was over the high one.
  virtual void on_drained() = 0;
  /// The connection is over; says why (ok = the peer ended the stream between two frames). The last callback.
  /// Every lease has been released before.
  virtual void on_closed(Status why) = 0;

 protected:
  ~FrameSink() = default;
};

struct ConnectionOptions {
  wire::FrameLimits frame_limits{};
  /// queued_bytes() above which the producer should wait for on_drained(); low water is half of it.
  std::size_t outbox_high_water = 4u << 20;
  /// How long the peer may leave queued bytes untaken before the connection ends with kUnavailable.
  Duration stall_timeout = std::chrono::seconds{30};
  /// How long the peer may take from a frame's (or the hello's) first byte to progress being made. Progress
  /// is a whole head, every 64 KiB of a body, and of an attachment every 64 KiB or 1024th part of it,
  /// whichever is more: an attachment of any length is there after 1025 times this, or its connection ends.
  Duration frame_timeout = std::chrono::seconds{10};
  /// What may carry the bytes in place of the stream; null = nothing.
  std::shared_ptr<const DataPaths> paths{};
};

/// Which way the bytes of a connection go, beside what its Capabilities say. For people.
struct PathReport {
  /// DataPath::description() of the data path that carries them; empty when the stream does.
  std::string description{};
  /// Why they stay with the stream although both sides offered a data path; else empty.
  std::string refusal{};
};

/// A connection that carries frames in order, whole or not at all. Belongs to one loop; may be destroyed at
/// any time outside its sink's callbacks, which gives back every lease and calls the sink no more.
class Connection {
 public:
  virtual ~Connection() = default;

  /// Begins to receive; `sink` must outlive the connection or its on_closed. Once.
  virtual void start(FrameSink& sink) = 0;
  /// What our hello is to offer beside the stream.
  virtual std::vector<wire::DataPathOffer> path_offers() const = 0;
  /// Where frames to be sent are queued: our hello first, and nothing behind it before on_hello. They leave
  /// at the end of the loop's turn, or sooner when they are many.
  virtual Outbox& outbox() = 0;
  /// Frames in both directions carry checksums from now on (the hellos agreed). Called inside on_hello.
  virtual void use_checksums() = 0;
  /// The memory that the landing attachment was given is no longer to be written; the rest of it is skipped.
  /// Only valid between on_attachment returning kInto and on_attachment_end (with landed = false then).
  virtual void abandon_landing() = 0;
  /// Memory for an attachment of `bytes` to land in: such that the transport is fast with. Counted in
  /// `budget`, if there is one. It may outlive the connection. Errors: as Buffer::try_allocate().
  virtual Result<Buffer> landing_memory(std::size_t bytes, std::shared_ptr<MemoryBudget> budget) {
    return Buffer::try_allocate(bytes, std::move(budget));
  }
  /// Stops and restarts taking frames from the peer: backpressure on a peer that asks for more than it may.
  virtual void pause_receiving() = 0;
  virtual void resume_receiving() = 0;
  /// Sends what is queued, then ends the sending side; receiving goes on until the peer ends its own. When
  /// the peer ends first, what is queued is still sent before on_closed.
  virtual void finish() = 0;
  /// Ends both sides soon, without sending what is queued; on_closed(why) comes from the loop, not from here.
  virtual void close(Status why) = 0;

  /// What is handed up now arrived after this, give or take a turn of the loop: before it there was nothing
  /// to receive, or so much has been received since that what was on its way then is through.
  TimePoint behind_since() const { return behind_since_; }

  /// Bytes are on their way: some are queued, or the peer owes the rest of what it began. The connection's
  /// own timeouts watch the peer then; a ping would only wait behind them.
  virtual bool is_moving() const = 0;

  /// Settled once on_hello is called.
  virtual const Capabilities& capabilities() const = 0;
  /// From on_hello on, until the connection ends. Makes strings, so not for a path that is to be fast.
  virtual PathReport path_report() const = 0;
  /// As a URL, for people: "tcp://127.0.0.1:4242".
  virtual std::string local_endpoint() const = 0;
  virtual std::string remote_endpoint() const = 0;

 protected:
  TimePoint behind_since_{};
};

}  // namespace weft
