// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/memory/buffer.hpp"
#include "weft/detail/memory/chunk_pool.hpp"
#include "weft/detail/transport/frame_sink.hpp"

namespace weft::detail {

/// Abilities of a carrier. The layers above ask for these and never for the carrier's name.
struct Capabilities {
  static constexpr std::size_t kSegmentsMin = 64;
  static constexpr std::size_t kSegmentsMost = 258;

  /// Name for people and logs only.
  const char* name = "";
  /// Leased bytes of this size or more are sent without a copy.
  std::size_t lease_bytes_min = 16 * 1024;
  /// Size of the pieces in which attachments travel; a multiple of 8.
  std::size_t piece_bytes = 128 * 1024;
  /// Size of a piece while no other frame would wait behind it, see decision 0043; zero: `piece_bytes`.
  /// Larger pieces cost less per byte, since each piece takes system calls of its own.
  std::size_t lone_piece_bytes = 0;
  /// A few frames of fewer bytes wait for the end of the turn: sending them and waking the peer takes about
  /// as long as copying this many bytes.
  std::size_t few_frames_bytes = 0;
  /// The peer is another process and may die without a word: keepalive pings make sense.
  bool peer_may_vanish = true;
  /// Attachments whose pieces are shorter than `lease_bytes_min` are sent from where they lie, many pieces at
  /// a time, if these are not very short.
  bool gathers = false;
  /// It gathers only pieces that have `lease_bytes_min` together, as far as they follow each other; others
  /// are cheaper copied.
  bool gathers_much = false;
  /// Segments that send() is shown at a time, at most: kSegmentsMin, or more, up to kSegmentsMost, where a
  /// call of it costs much.
  std::size_t segments_max = kSegmentsMin;
  /// Runs of a landing that receive() is shown at a time, at most; up to AttachmentPlace::kRunsMax.
  std::size_t landing_runs_max = 64;
  /// Calls in flight on one connection from which on another connection is better than more of them.
  std::uint32_t calls_shared_max = 512;
  /// Leased bytes may be part of a frame's body.
  bool lends_runs = false;
  /// Carrier::receive_in_place() is worth asking.
  bool receives_in_place = false;

  /// True if an attachment of `bytes` travels with its frame, by way of a chunk. For attachments that are not
  /// copied on their way out, a device may need the memory.
  bool comes_whole(std::uint64_t bytes) const noexcept {
    return bytes < lease_bytes_min && bytes <= kWholeAttachmentMax;
  }
};

/// The outcome of one attempt to move bytes.
struct Moved {
  enum class Kind : std::uint8_t {
    kSome,     ///< `bytes` were moved, and their memory is the caller's
    kBegun,    ///< a device moves them: the memory is the carrier's until a later call finishes this
    kBlocked,  ///< nothing can be moved now, and nothing was begun
    kEnded,
    kFailed,
  };
  Kind kind = Kind::kBlocked;
  /// kSome: asking again at once would say kBlocked. kBegun of sending: so would sending more that is queued
  /// behind.
  bool exhausted = false;
  /// kFailed: the errno.
  int error = 0;
  /// kSome: number of bytes moved. kBegun of sending: number of the given bytes, from the beginning, that
  /// have been started.
  std::size_t bytes = 0;

  static Moved some(std::size_t bytes, bool exhausted) { return {Kind::kSome, exhausted, 0, bytes}; }
  static Moved begun(std::size_t bytes = 0, bool exhausted = true) {
    return {Kind::kBegun, exhausted, 0, bytes};
  }
  static Moved blocked() { return {}; }
  static Moved ended() { return {Kind::kEnded, true, 0, 0}; }
  static Moved failed(int error) { return {Kind::kFailed, true, error, 0}; }

  /// Nothing was moved, and the carrier reports when it is worth asking again.
  bool waits() const noexcept { return kind == Kind::kBegun || kind == Kind::kBlocked; }
};

class LandingsAhead;

/// Receives the events of a carrier. Called in turns of the loop, never from inside a call to the carrier,
/// and not after Carrier::shut().
class CarrierOwner {
 public:
  /// Returns true if arriving bytes are being received: the receive then finds a failure itself, and it need
  /// not be reported.
  virtual bool receives() const = 0;
  /// receive() has something to say again after kBegun or kBlocked.
  virtual void on_readable() = 0;
  /// Called when send() may make progress after kBegun or kBlocked, or when everything has left after
  /// end_sending().
  virtual void on_writable() = 0;
  /// Called after the events of one report, if other reports follow in this turn: resulting bytes may be sent
  /// now.
  virtual void on_report_end() {}
  /// The carrier is of no further use.
  virtual void on_failed(Status why) = 0;

 protected:
  ~CarrierOwner() = default;
};

/// Carries the bytes of a connection to the peer and back: in order, each once. One end of it; belongs to one
/// loop.
///
///   made --report_to()--> used --shut()--> shut
///
/// A connection begins on one (its BaseCarrier), and may go on by another that was brought up
/// (CarrierEnd); the base carrier stays beside that one, and when it ends the peer is gone.
class Carrier {
 public:
  Carrier() = default;
  Carrier(const Carrier&) = delete;
  Carrier& operator=(const Carrier&) = delete;
  /// Shuts it if that was not done.
  virtual ~Carrier() = default;

  /// Sets the owner, which receives all events from now on and must outlive the carrier or its shut(). Called
  /// before any event can occur, or to replace the previous owner.
  void report_to(CarrierOwner& owner) noexcept { owner_ = &owner; }

  virtual const Capabilities& capabilities() const = 0;
  /// Describes what carries the bytes underneath, for people; empty when the name says it all.
  virtual std::string description() const { return {}; }

  /// Fills `into` from its beginning. `landing` names the leading pieces of `into` that are the memory of an
  /// attachment, as far as it is listed; empty if `into` does not begin with one. A device may fill the
  /// landing: the call that starts this returns kBegun, and so do calls that find it under way; a later call
  /// whose `landing` begins at the same place finishes it with kSome.
  virtual Moved receive(std::span<const iovec> into, std::span<const iovec> landing) = 0;
  /// Returns what receive() would begin with, whole, in the memory where it lies, which begins at a multiple
  /// of 8. Null when it cannot be had so: receive() it then. `exhausted`: asking again at once would give
  /// null.
  virtual ChunkRef receive_in_place(bool& exhausted) {
    exhausted = false;
    return {};
  }
  /// Skips up to `bytes` of the next received bytes that need not be moved. Returns the number of skipped
  /// bytes; the rest arrives by receive().
  virtual std::size_t skip(std::size_t bytes) {
    static_cast<void>(bytes);
    return 0;
  }
  /// Moves also the attachments behind a landing to their memory, as far as `ahead` knows it. Called after a
  /// receive() that returned kBegun, while `left` bytes of that landing are still to come. Each of these
  /// attachments is still received in its turn, with the memory that it was moved to as its landing, or is
  /// skipped. May be called again.
  virtual void read_ahead(std::size_t left, LandingsAhead& ahead) {
    static_cast<void>(left);
    static_cast<void>(ahead);
  }
  /// Returns a time by which all bytes that receive() can give now had surely arrived; `now` where that is
  /// unknown. It may make a system call.
  virtual TimePoint arrived_by(TimePoint now) const { return now; }
  /// Memory for an attachment of `bytes` into which receive() is faster than into other memory; empty when
  /// there is no such memory. It may outlive the carrier, and end on any thread.
  virtual Buffer landing_memory(std::size_t bytes) {
    static_cast<void>(bytes);
    return {};
  }

  /// Sends from the beginning of `from`, whose memory stays in place until it is consumed or taken back; its
  /// first `leased` bytes are leased memory, of one run or several. A device may read in place: the call that
  /// starts this returns kBegun, and so do calls that find it under way; later calls finish it with kSome,
  /// from the beginning on. So `from` begins with the started bytes until these are finished. More bytes may
  /// be started behind them, and other bytes may be sent there, which count as started: after a kBegun that
  /// is not exhausted, bytes queued later may be passed too. After kBlocked and kFailed the peer sees nothing
  /// of `from` beyond the bytes started before.
  virtual Moved send(std::span<const iovec> from, std::size_t leased) = 0;
  enum class Lent : std::uint8_t {
    kLanding,  ///< the landing, after a receive() that said kBegun
    kAhead,    ///< the landing, and the memory of attachments read ahead
    kSending,  ///< all bytes given to send()
  };
  /// Takes memory back: returns only when no bytes are moved to or from it. kSome returns the number of
  /// further bytes that landed or left. Bytes that had been started behind these count as not sent. kSending
  /// also forgets the bytes to be started next. kAhead reports nothing; moved bytes are reported in their
  /// turn. kFailed means that the carrier had to be given up.
  virtual Moved reclaim(Lent what) {
    static_cast<void>(what);
    return Moved::blocked();
  }
  /// Says whether taking it back would return at once, because no device has the memory. If one has, the
  /// carrier asks for it, so that asking again later pays.
  virtual bool gives_back_at_once(Lent what) {
    static_cast<void>(what);
    return true;
  }
  /// Everything was given to send(): tells the peer that no more comes.
  virtual void end_sending() = 0;
  /// True when shut() no longer discards sent bytes, neither here nor at the peer. Where this requires an
  /// end_sending(), on_writable() follows.
  virtual bool all_left() const { return true; }

  /// The base carrier beside it has ended: takes in what the peer sent before.
  virtual void catch_up() {}
  /// Ends the carrier in both directions, at once. All memory lent to it is free afterwards, and its owner is
  /// not notified any more. The only thing that may be done with it afterwards is to destroy it.
  virtual void shut() = 0;

 protected:
  CarrierOwner& owner() const noexcept { return *owner_; }

 private:
  CarrierOwner* owner_ = nullptr;
};

/// Returns the status of a connection that `error` ended: always kUnavailable, for every errno. `what` names
/// the operation, `whom` the peer.
Status connection_lost(std::string_view what, std::string_view whom, int error) noexcept;

}  // namespace weft::detail
