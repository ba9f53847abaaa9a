// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/bytes.hpp"
#include "weft/base/result.hpp"
#include "weft/base/time.hpp"
#include "weft/memory/buffer.hpp"
#include "weft/memory/chunk_pool.hpp"
#include "weft/transport/memory_lease.hpp"
#include "weft/wire/hello.hpp"

namespace weft {

class Loop;
struct Capabilities;

/// What one attempt to move bytes came to.
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

/// Whom a data path tells what happens on it. Called in turns of the loop, never from inside a call to the
/// path, and not after DataPath::shut().
class DataPathOwner {
 public:
  /// This end is ready to receive, after a connect() that left it connecting().
  virtual void on_path_connected() {}
  /// The peer was heard on the path for the first time: what it sends arrives.
  virtual void on_path_heard() = 0;
  /// receive() has something to say again after kBlocked.
  virtual void on_path_readable() = 0;
  /// send() may get on after kBlocked, or everything has left after end_sending().
  virtual void on_path_writable() = 0;
  /// The path is of no further use.
  virtual void on_path_failed(Status why) = 0;
  /// Where the stream leads that this side connected, as a URL; empty when the peer connected it.
  virtual std::string connected_to() const { return {}; }

 protected:
  ~DataPathOwner() = default;
};

class DataPath;

/// One end of a way to the peer while it is brought up. Belongs to one loop.
///
///   made --connect()--> probing --on_path_heard()--> up --shut()--> shut
///
/// It stays until the connection ends; once it is up the bytes are its carrier's.
class PathEnd {
 public:
  /// Shuts it if that was not done.
  virtual ~PathEnd() = default;

  /// What the peer needs to reach this end; at most wire::kPathTextMax bytes.
  virtual std::string address() const = 0;
  /// Begins to reach the peer, and lets it hear of us.
  virtual Status connect(std::string_view peer_address) = 0;
  /// connect() went well and takes longer: on_path_connected() follows, or on_path_failed().
  virtual bool connecting() const { return false; }
  /// What is sent before the peer's end is connected gets lost: connect() only gets ready to receive then,
  /// each side tells the other when it is, and on_peer_ready() lets the peer hear of us.
  virtual bool needs_peer_ready() const { return false; }
  virtual void on_peer_ready() {}

  /// What moves the bytes. Once it is up.
  virtual DataPath& carrier() = 0;

  /// Ends it at once. All memory that it was given is free afterwards, and its owner hears no more.
  virtual void shut() = 0;
};

/// One end of a way to the peer that carries a connection's bytes in place of its stream: in order, each
/// once. The stream stays beside it; when the stream ends the peer is gone. Until it is up only what a
/// PathEnd has is called.
class DataPath : public PathEnd {
 public:
  DataPath& carrier() final { return *this; }

  virtual const Capabilities& capabilities() const = 0;
  /// What carries it underneath, for people: what the layer below prints, in its own layout. Once it is up.
  virtual std::string description() const = 0;
  /// Fills `into` from its beginning. `landing` is the first piece of `into` when that is the memory of an
  /// attachment, else empty: what is received straight into it is begun by one call, which says kBlocked, and
  /// reported by a later one that finds the same `landing`. Until then the memory is the path's.
  virtual Moved receive(std::span<const iovec> into, MutableBytes landing) = 0;
  /// What receive() would begin with, whole, in the memory where it lies, which begins at a multiple of 8.
  /// Null when it cannot be had so: receive() it then. `exhausted`: asking again at once would give null.
  virtual ChunkRef receive_in_place(bool& exhausted) = 0;
  /// Waits until the landing that a receive was begun for is the caller's again. kSome: so many bytes more
  /// have landed. kFailed when the path had to be given up for it.
  virtual Moved reclaim_landing() = 0;
  /// Memory for an attachment of `bytes` into which receive() is faster than into other memory; empty when
  /// there is no such memory. It may outlive the path, and end on any thread.
  virtual Buffer landing_memory(std::size_t bytes) {
    static_cast<void>(bytes);
    return {};
  }
  /// Sends from the beginning of `from`; what it says was moved may be reused at once. The first `leased`
  /// bytes of it may be read in place, begun by one call that says kBlocked and reported by a later one:
  /// until then the memory is the path's.
  virtual Moved send(std::span<const iovec> from, std::size_t leased) = 0;
  /// Waits until no memory that was given to send() is read any more. kSome: so many bytes of it have left.
  /// kFailed when the path had to be given up for it.
  virtual Moved reclaim_sending() = 0;
  /// Everything was given to send(): tells the peer that no more comes. on_path_writable() follows.
  virtual void end_sending() = 0;
  /// After end_sending() and the peer's end: shut() takes nothing away any more, neither here nor from the
  /// peer.
  virtual bool all_left() const = 0;

  /// The stream has ended: takes in what the peer sent before.
  virtual void catch_up() = 0;
};

/// Makes data paths of one kind. Immutable; every thread may use it.
class DataPathProvider {
 public:
  virtual ~DataPathProvider() = default;
  virtual wire::DataPath kind() const = 0;
  /// What the peer needs to judge whether the path can be used; goes into the hello.
  virtual std::string offer() const = 0;
  /// Looks whether the path can be had on this machine, before there is a peer: for whoever cannot do without
  /// it. Errors: why not.
  virtual Status require() const { return {}; }
  /// Looks whether its options can be right, for a listener that offers it; may take milliseconds. Errors:
  /// what is wrong with them. A machine on which nobody can have the path is no error here.
  virtual Status try_out() const { return {}; }
  /// This end of a path to the peer that made `peer_offer`, on `loop`, whose thread must be the calling one.
  /// Errors: the path cannot be used with this peer, or not at all on this machine.
  virtual Result<std::unique_ptr<PathEnd>> open(Loop& loop, DataPathOwner& owner,
                                                std::string_view peer_offer) const = 0;
  /// See Transport::register_memory().
  virtual Result<MemoryLease> register_memory(MutableBytes memory) const {
    static_cast<void>(memory);
    return MemoryLease{};
  }
};

/// Whether a data path is used when both sides could.
enum class PathPolicy : std::uint8_t {
  kForbid,   ///< not offered
  kPrefer,   ///< used if it comes up, else the stream
  kRequire,  ///< without it the connection ends with kFailedPrecondition
};

/// What an offer in a hello says of its sender's policy: kPrefer or kRequire; kForbid when its parameters are
/// not those of an offer, which then counts as none.
PathPolicy policy_of(const wire::DataPathOffer& offer) noexcept;

/// What a side that offers no data path says to the offers in its peer's hello. Errors: kFailedPrecondition
/// when the peer requires one.
Status refuse_demands(const std::vector<wire::DataPathOffer>& theirs);

/// The data paths a connection may use, the best first.
struct DataPaths {
  struct Choice {
    std::shared_ptr<const DataPathProvider> provider;
    PathPolicy policy = PathPolicy::kPrefer;
  };
  std::vector<Choice> choices;
  /// How long bringing one up may take, from the peer's hello on.
  Duration bring_up_timeout = std::chrono::seconds{2};
  /// Of connections that this side begins, not the peer.
  bool connecting = false;
};

}  // namespace weft
