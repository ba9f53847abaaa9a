// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/base/lent_runs.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/calls/terms/answer_wishes.hpp"
#include "weft/detail/calls/terms/attachment.hpp"
#include "weft/detail/calls/terms/refusal_reason.hpp"
#include "weft/detail/coro/executor.hpp"
#include "weft/detail/memory/chunk_pool.hpp"
#include "weft/detail/transport/identity.hpp"

namespace weft::detail {

class ItemSink;
class PeerTarget;
class ServedCall;
struct Refusal;
struct RoomWaiterTag;

/// A sender of an answer that waits until the connection's queue is below its high-water mark. Schedules
/// `node` when that happens, or when the connection is gone.
struct RoomWaiter : ListHook<RoomWaiterTag> {
  explicit RoomWaiter(Ready& its_node) : node(its_node) {}
  Ready& node;
};

/// Runs of an answer's body that are sent without a copy. They lie in `chunk`, or in memory that is freed
/// with it.
struct RunsInChunk {
  const LentRuns& runs;
  const ChunkRef& chunk;
};

/// Takes the answers of served calls: a connection of Weft, a connection of another protocol, or a test.
/// Calls are identified by their id. Thread: the loop of its calls.
class AnswerSink {
 public:
  /// Returns room for an answer's body, to be written at once; the caller then calls one of the functions
  /// that end an answer. Null when no answer can be sent: the call needs nothing more.
  virtual std::byte* begin_answer(std::uint64_t id, std::size_t body_bytes,
                                  std::uint64_t attachment_bytes) = 0;
  virtual void end_answer() = 0;
  /// Returns true if the answer that was ended last could not be sent, and a failure was sent and counted in
  /// its place.
  bool has_failed_end() const noexcept { return failed_end_; }
  /// Returns the pool of the chunks from which runs of an answer's body can be sent without a copy; null when
  /// bodies must be written whole.
  virtual ChunkPool* lending_chunks() const noexcept { return nullptr; }
  /// Does as begin_answer(), for a body written without the `lent` runs; only where lending_chunks() is not
  /// null. After writing, the caller calls put_runs_in() and then ends the answer.
  virtual std::byte* begin_answer_around(std::uint64_t id, std::size_t body_bytes,
                                         std::uint64_t attachment_bytes, const RunsInChunk& lent) {
    static_cast<void>(lent);
    return begin_answer(id, body_bytes, attachment_bytes);
  }
  /// Inserts the lent runs at their places in the body. With `attachment_follows` end_answer_with() must be
  /// called next.
  virtual void put_runs_in(const RunsInChunk& lent, bool attachment_follows) {
    static_cast<void>(lent);
    static_cast<void>(attachment_follows);
  }
  /// Replaces the end of an answer: the begun answer could not be encoded, and another one is sent instead.
  virtual void take_back_answer(const std::byte* body) = 0;
  /// Ends the answer to `id` that was begun with `attachment`. The attachment may be empty, and the caller
  /// drops it whether it was moved from or not. `wishes` may be null; otherwise it is notified when the
  /// answer was sent or dropped.
  virtual void end_answer_with(std::uint64_t id, Attachment& attachment,
                               std::unique_ptr<AnswerWishes> wishes) = 0;
  /// Sends metadata of the answer to `id`, which is not begun yet: `pairs` are is_metadata(). `initial` ones
  /// go ahead of later items. Fails when the peer or this side's memory has no room for them. Dropped where
  /// the peer reads none.
  virtual Status send_metadata(std::uint64_t id, bool initial, Bytes pairs) {
    static_cast<void>(id);
    static_cast<void>(initial);
    static_cast<void>(pairs);
    return {};
  }
  /// Limits the attachment of the answer to `id`, if any of it remains unsent, to `rate` bytes per second
  /// from now on. `rate` is above zero.
  virtual void slow_down(std::uint64_t id, std::uint64_t rate) {
    static_cast<void>(id);
    static_cast<void>(rate);
  }
  virtual void fail(std::uint64_t id, const Status& failure) = 0;
  /// Fails the call, and counts and logs the refusal under `reason`.
  virtual void refuse(std::uint64_t id, RefusalReason reason, const Status& why) = 0;
  /// Refuses a call with a handler that has not run, and marks it as unprocessed for its caller.
  virtual void refuse_unrun(std::uint64_t id, const Refusal& refusal);
  /// Refuses the call, and needs no memory except for the frame.
  virtual void refuse_without_memory(std::uint64_t id) = 0;

  /// Returns true if an answer may be encoded: the queue is not above its high-water mark.
  virtual bool has_room() const noexcept = 0;
  /// Schedules `waiter` when there is room, or when the connection is gone. Call only while has_room() is
  /// false.
  virtual void add_room_waiter(RoomWaiter& waiter) = 0;
  /// Charges `bytes` of an answer that waits for room: to the connection, as part of the call's charge there
  /// (ServedRequest::connection_charge), and to the process's memory, which the holder of the answer
  /// releases. Returns false when either is exhausted.
  virtual bool charge_answer(std::size_t bytes) = 0;
  /// Reserves memory for the copy of an answer's attachment of `bytes` that lies in memory writable by
  /// others. Call it before the answer is begun. Returns false when memory is exhausted.
  virtual bool reserve_copy(std::uint64_t bytes) {
    static_cast<void>(bytes);
    return true;
  }
  /// Wakes the next answer that waits for room, if there is room. The end of each call wakes one more, so
  /// that the waiting answers do not fill the queue all at once.
  virtual void wake_room_waiter() = 0;
  /// Ends the use of the sink by `call`.
  virtual void forget(ServedCall& call) = 0;

  /// Returns true if the connection is gone. The calls that use the sink are notified soon, and their answers
  /// are dropped.
  bool is_gone() const { return gone_; }

  /// Identifies the connection within this process.
  std::uint64_t connection_id() const { return connection_id_; }
  /// Identity of the peer, as proven by the connection; the token of a call does not change it.
  const Identity& peer_identity() const { return peer_identity_; }
  void set_peer_identity(const Identity& peer) { peer_identity_ = peer; }
  virtual std::string local_endpoint() const = 0;
  virtual std::string remote_endpoint() const = 0;
  /// The user's object attached to this connection.
  virtual std::shared_ptr<void>& connection_tag() = 0;
  /// Returns the target for calls to the peer; null for protocols without such calls. Throws std::bad_alloc.
  virtual std::shared_ptr<PeerTarget> peer() { return nullptr; }
  /// Returns the streams of the connection; null for protocols that carry none.
  virtual ItemSink* streams() { return nullptr; }
  /// Closes the connection after everything queued has been sent.
  virtual void finish() = 0;

 protected:
  explicit AnswerSink(std::uint64_t connection_id) : connection_id_(connection_id) {}
  ~AnswerSink() = default;

  void set_gone() { gone_ = true; }
  /// Notes whether the answer that was ended last was replaced by a failure.
  void note_end(bool failed) noexcept { failed_end_ = failed; }

 private:
  const std::uint64_t connection_id_;
  Identity peer_identity_;
  bool gone_ = false;
  bool failed_end_ = false;
};

}  // namespace weft::detail
