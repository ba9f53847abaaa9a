// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "weft/base/bytes.hpp"
#include "weft/base/status.hpp"
#include "weft/memory/buffer.hpp"
#include "weft/memory/chunk_pool.hpp"

namespace weft {

/// Abilities of a carrier; rpc asks this instead of asking which carrier it is.
struct Capabilities {
  /// For people and logs only.
  const char* name = "";
  /// Leased bytes of this size or more are sent without a copy.
  std::size_t lease_bytes_min = 16 * 1024;
  /// The peer is another process and may die without a word: keepalive pings make sense.
  bool peer_may_vanish = true;
  /// Carrier::receive_in_place() is worth asking.
  bool receives_in_place = false;
};

/// Result of one attempt to move bytes.
struct Moved {
  enum class Kind : std::uint8_t { kSome, kBlocked, kEnded, kFailed };
  Kind kind = Kind::kBlocked;
  /// kSome: asking again at once would say kBlocked.
  bool exhausted = false;
  /// kFailed: the errno.
  int error = 0;
  std::size_t bytes = 0;

  static Moved some(std::size_t bytes, bool exhausted) { return {Kind::kSome, exhausted, 0, bytes}; }
  static Moved blocked() { return {}; }
  static Moved ended() { return {Kind::kEnded, true, 0, 0}; }
  static Moved failed(int error) { return {Kind::kFailed, true, error, 0}; }
};

/// Hears what happens on a carrier. Called in turns of the loop, never from inside a call to the carrier, and
/// not after Carrier::shut().
class CarrierOwner {
 public:
  /// Bytes that arrive are received as they come: a failure is met there, and need not be told.
  virtual bool receives() const = 0;
  /// receive() has something to say again after kBlocked.
  virtual void on_readable() = 0;
  /// send() may get on after kBlocked, or everything has left after end_sending().
  virtual void on_writable() = 0;
  /// The events of one report were told, and others are still to come in this turn: what they caused may be
  /// sent now.
  virtual void on_settled() {}
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
/// A connection begins on one (its stream), and may go on by another that was brought up (PathEnd); the
/// stream stays beside that one, and when the stream ends the peer is gone.
class Carrier {
 public:
  Carrier() = default;
  Carrier(const Carrier&) = delete;
  Carrier& operator=(const Carrier&) = delete;
  /// Shuts it if that was not done.
  virtual ~Carrier() = default;

  /// `owner` hears all that happens from now on, and must outlive the carrier or its shut(). Before anything
  /// can happen, or in place of the owner before.
  void report_to(CarrierOwner& owner) noexcept { owner_ = &owner; }

  virtual const Capabilities& capabilities() const = 0;
  /// Describes what carries the bytes underneath, for people; empty when the name says it all.
  virtual std::string description() const { return {}; }
  /// Both ends as URLs, for people: "tcp://127.0.0.1:4242". Of a carrier that connections begin on.
  virtual std::string local_endpoint() const { return {}; }
  virtual std::string remote_endpoint() const { return {}; }

  /// Fills `into` from its beginning. `landing` is the first piece of `into` when that is the memory of an
  /// attachment, else empty: what is received straight into it is begun by one call, which says kBlocked, and
  /// reported by a later one that finds the same `landing`. Until then the memory is the carrier's.
  virtual Moved receive(std::span<const iovec> into, MutableBytes landing) = 0;
  /// Returns what receive() would begin with, whole, in the memory where it lies, which begins at a multiple
  /// of 8. Null when it cannot be had so: receive() it then. `exhausted`: asking again at once would give
  /// null.
  virtual ChunkRef receive_in_place(bool& exhausted) {
    exhausted = false;
    return {};
  }
  /// Waits until the landing that a receive was begun for is the caller's again. kSome: so many bytes more
  /// have landed. kFailed when the carrier had to be given up for it.
  virtual Moved reclaim_landing() { return Moved::blocked(); }
  /// Memory for an attachment of `bytes` into which receive() is faster than into other memory; empty when
  /// there is no such memory. It may outlive the carrier, and end on any thread.
  virtual Buffer landing_memory(std::size_t bytes) {
    static_cast<void>(bytes);
    return {};
  }

  /// Sends from the beginning of `from`; what it says was moved may be reused at once. The first `leased`
  /// bytes of it may be read in place, begun by one call that says kBlocked and reported by a later one:
  /// until then the memory is the carrier's.
  virtual Moved send(std::span<const iovec> from, std::size_t leased) = 0;
  /// Waits until no memory that was given to send() is read any more. kSome: so many bytes of it have left.
  /// kFailed when the carrier had to be given up for it.
  virtual Moved reclaim_sending() { return Moved::blocked(); }
  /// Everything was given to send(): tells the peer that no more comes.
  virtual void end_sending() = 0;
  /// shut() takes nothing of what was sent away any more, neither here nor from the peer. Where that takes
  /// an end_sending(), on_writable() follows.
  virtual bool all_left() const { return true; }

  /// The stream beside it has ended: takes in what the peer sent before.
  virtual void catch_up() {}
  /// Ends it in both directions, at once. All memory that it was given is free afterwards, and its owner
  /// hears no more. Nothing but its end follows.
  virtual void shut() = 0;

 protected:
  CarrierOwner& owner() const noexcept { return *owner_; }

 private:
  CarrierOwner* owner_ = nullptr;
};

/// Returns the end that `error` makes of a connection: always kUnavailable, whatever the errno stands for
/// elsewhere. `what` has to say to whom.
Status connection_lost(std::string_view what, int error);

}  // namespace weft
