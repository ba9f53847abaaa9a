// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/base/lent_runs.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/calls/answer_wishes.hpp"
#include "weft/detail/calls/attachment.hpp"
#include "weft/detail/calls/refusal_reason.hpp"
#include "weft/detail/coro/executor.hpp"
#include "weft/detail/memory/chunk_pool.hpp"
#include "weft/detail/transport/identity.hpp"

namespace weft::detail {

class PeerTarget;
class ServedCall;
struct RoomWaiterTag;

/// Somebody with an answer who waits until the connection's queue is under its high-water mark; `node` is
/// scheduled then, or when the connection is gone.
struct RoomWaiter : ListHook<RoomWaiterTag> {
  explicit RoomWaiter(Ready& its_node) : node(its_node) {}
  Ready& node;
};

/// Runs of an answer's body that are sent from where they lie: in the chunk, or in memory that ends with it.
struct RunsInChunk {
  const LentRuns& runs;
  const ChunkRef& chunk;
};

/// Takes the answers of calls that are served: a connection of Weft's, or of another protocol, or a test. A
/// call is named by its id there. Thread: the loop of its calls.
class AnswerSink {
 public:
  /// Room for an answer's body, to be written at once; one of the ends follows. Null when no answer is to be
  /// written: the call needs nothing more then.
  virtual std::byte* begin_answer(std::uint64_t id, std::size_t body_bytes,
                                  std::uint64_t attachment_bytes) = 0;
  virtual void end_answer() = 0;
  /// Returns the pool of the chunks in which runs of an answer's body may lie that are sent from there; null
  /// where a body is written whole.
  virtual ChunkPool* lending_chunks() const noexcept { return nullptr; }
  /// Does as begin_answer(), where there are lending_chunks(), for a body that is written without what is
  /// `lent`; put_runs_in() follows when it is written, and then an end.
  virtual std::byte* begin_answer_around(std::uint64_t id, std::size_t body_bytes,
                                         std::uint64_t attachment_bytes, const RunsInChunk& lent) {
    static_cast<void>(lent);
    return begin_answer(id, body_bytes, attachment_bytes);
  }
  /// The runs have their places; with `attachment_follows` end_answer_with() is next.
  virtual void put_runs_in(const RunsInChunk& lent, bool attachment_follows) {
    static_cast<void>(lent);
    static_cast<void>(attachment_follows);
  }
  /// Replaces an end: the answer that was begun cannot be encoded, and something else is answered.
  virtual void take_back_answer(const std::byte* body) = 0;
  /// Ends the answer to `id` that was begun with `attachment` (which may be empty, and is the caller's to
  /// drop, moved from or not). `wishes` may be null, and are told the end of its way.
  virtual void end_answer_with(std::uint64_t id, Attachment& attachment,
                               std::unique_ptr<AnswerWishes> wishes) = 0;
  /// The attachment of the answer to `id`, if some of it is to be sent, goes at no more than `rate` bytes a
  /// second, above zero, from now on.
  virtual void slow_down(std::uint64_t id, std::uint64_t rate) {
    static_cast<void>(id);
    static_cast<void>(rate);
  }
  virtual void fail(std::uint64_t id, const Status& failure) = 0;
  /// Fails the call, and counts and logs it for `reason`.
  virtual void refuse(std::uint64_t id, RefusalReason reason, const Status& why) = 0;
  /// Refuses the call and needs no memory for it but the frame's.
  virtual void refuse_without_memory(std::uint64_t id) = 0;

  /// An answer may be encoded: the queue is not over its high-water mark.
  virtual bool has_room() const noexcept = 0;
  /// Schedules `waiter` when there is room, or when the connection is gone. Called while has_room() is false.
  virtual void add_room_waiter(RoomWaiter& waiter) = 0;
  /// Charges `bytes` of an answer that waits for room: in the connection, as a part of what its call counts
  /// there (ServedRequest::connection_charge), and in the process's memory, where whoever keeps the answer
  /// gives them back. False when there is no memory for it.
  virtual bool charge_answer(std::size_t bytes) = 0;
  /// Reserves memory for what is copied of an answer's attachment of `bytes`, memory that others may write
  /// to, before the answer is begun. False when there is none.
  virtual bool reserve_copy(std::uint64_t bytes) {
    static_cast<void>(bytes);
    return true;
  }
  /// The next answer that waited goes on, if there is room. The end of its call wakes another, so that all
  /// who waited do not fill the queue at once.
  virtual void wake_room_waiter() = 0;
  /// `call` uses the sink no longer.
  virtual void forget(ServedCall& call) = 0;

  /// The connection is gone: the calls that use the sink hear of it soon, and what they answer goes nowhere.
  bool is_gone() const { return gone_; }

  /// Identifies the connection among all of this process.
  std::uint64_t connection_id() const { return connection_id_; }
  /// Identity of the peer, as it was proven.
  const Identity& peer_identity() const { return peer_identity_; }
  void set_peer_identity(const Identity& peer) { peer_identity_ = peer; }
  virtual std::string local_endpoint() const = 0;
  virtual std::string remote_endpoint() const = 0;
  /// The user's own object on this connection.
  virtual std::shared_ptr<void>& connection_tag() = 0;
  /// Place where calls to the peer are begun; null where a protocol has none. Throws std::bad_alloc.
  virtual std::shared_ptr<PeerTarget> peer() { return nullptr; }
  /// Ends the connection once all that is queued has left.
  virtual void finish() = 0;

 protected:
  explicit AnswerSink(std::uint64_t connection_id) : connection_id_(connection_id) {}
  ~AnswerSink() = default;

  void set_gone() { gone_ = true; }

 private:
  const std::uint64_t connection_id_;
  Identity peer_identity_;
  bool gone_ = false;
};

}  // namespace weft::detail
