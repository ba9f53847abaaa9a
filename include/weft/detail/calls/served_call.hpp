// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/calls/answer_body.hpp"
#include "weft/detail/calls/answer_sink.hpp"
#include "weft/detail/calls/call_context.hpp"
#include "weft/detail/calls/id_table_node.hpp"
#include "weft/detail/calls/kept_body.hpp"
#include "weft/detail/calls/running_limit.hpp"
#include "weft/detail/calls/served_details.hpp"
#include "weft/detail/calls/stream_side.hpp"
#include "weft/detail/coro/cancel.hpp"
#include "weft/detail/coro/executor.hpp"
#include "weft/detail/coro/task.hpp"

namespace weft {
class Loop;
}  // namespace weft

namespace weft::detail {

struct CallsHost;
struct MethodEntry;
struct Refusal;
struct ServedCallTag;

/// Request of a call that is to be served with a record, which keeps it.
struct ServedRequest {
  std::uint64_t id = 0;
  /// Bytes that stay until the record ends: the metadata, and the body behind it unless that is not kept.
  KeptBody kept{};
  /// The arguments; in `kept`, or only valid while the request is received.
  Bytes body{};
  Deadline deadline{};
  /// Bytes that the call counts in its connection.
  std::size_t connection_charge = 0;
  /// Larger answers are refused before they are encoded.
  std::uint32_t answer_bytes_max = 0;
  /// Bytes of metadata, which are the first of those that are kept.
  std::uint32_t metadata_bytes = 0;
  /// Its place among the calls that run of its method, and of the server.
  RunningPlace place{};
};

/// A request that outlives the receiving of its bytes: a coroutine's, a delayed reply's, a worker's, or one
/// whose handler asked for its CallContext. The operation record: owns what the handler looks at, knows its
/// connection (the sink) as long as there is one, and is gone only when both the answer was given and the
/// handler has ended.
///
///   kRunning --answer or failure--> kAnswered --last holder lets go--> (freed)
///   kRunning --the peer's cancel--> kCancelled --last holder lets go--> (freed), and the peer is told
///   kRunning --connection lost----> kOrphaned --last holder lets go--> (freed); an answer is dropped
///
/// Thread: the connection's loop, but for what says otherwise.
class ServedCall : public ListHook<ServedCallTag>, public IdTableNode<ServedCall>, private Completion {
 public:
  /// Makes a record, with its details where it is known that the call will need them: `has_details` says so
  /// too. `sink` is told by forget() that the call uses it no longer; the others outlive the call. Throws
  /// std::bad_alloc.
  static ServedCall& make(AnswerSink& sink, CallsHost& host, Loop& loop, const MethodEntry& method,
                          ServedRequest&& request, Buffer attachment = {}, bool has_details = false);
  /// The same in place; `details` outlive the record, or are null. One that is not made by make() ends where
  /// it is, and nobody lets it go.
  ServedCall(AnswerSink& sink, CallsHost& host, Loop& loop, const MethodEntry& method,
             ServedRequest&& request, ServedDetails* details = nullptr);
  ~ServedCall();
  static void* operator new(std::size_t size) { return detail::allocate_frame(size); }
  static void operator delete(void* block, std::size_t size) noexcept { detail::release_frame(block, size); }

  std::uint64_t id() const { return request_.id; }
  Bytes body() const { return request_.body; }
  CancelScope& scope() { return scope_; }
  CallContext& context() { return context_; }
  /// Returns the details; makes them, if there are none, where the handler runs. Throws std::bad_alloc.
  ServedDetails& details() {
    if (details_ == nullptr) [[unlikely]] {
      details_ = new ServedDetails(*this);
    }
    return *details_;
  }
  CallEnvelope& envelope() { return details().envelope; }
  /// Null when there is nothing in it.
  CallEnvelope* envelope_if_any() const { return details_ != nullptr ? &details_->envelope : nullptr; }
  /// Items of a call that is a stream; else null.
  std::unique_ptr<StreamSide>& stream() { return stream_; }
  const MethodEntry& method() const { return *method_; }
  Loop& loop() const { return *loop_; }
  /// Null when the connection is gone.
  AnswerSink* sink() const { return sink_; }
  std::uint64_t connection_id() const { return connection_id_; }
  const ServedRequest& request() const { return request_; }

  /// Runs the handler, or hands the call to a worker. The record may be gone afterwards.
  void start();
  /// The peer gave the call up: nobody waits for an answer, and one that comes is dropped. That the record is
  /// gone is told in its place: so much less runs for this peer.
  void cancel_by_peer();
  /// Its time is over: the handler is cancelled.
  void on_deadline();
  /// The connection is gone.
  void orphan();

  /// Returns the pool of the chunks in which runs of the answer may lie; null: it is written whole.
  ChunkPool* lending_chunks() const noexcept {
    return off_loop_ || sink_ == nullptr ? nullptr : sink_->lending_chunks();
  }
  /// Begins it as with an InlineCall; null: the body is written whole.
  std::byte* begin_answer(std::size_t bytes, const RunsInChunk* lent = nullptr);
  void end_answer(const RunsInChunk* lent = nullptr);
  /// Replaces end_answer(), as with an InlineCall.
  void take_back_answer(const std::byte* body);
  void fail(const Status& failure);
  /// The body is not one of the method. Where the handler runs.
  void refuse_arguments(const Status& failure);
  bool answered() const { return state_ != State::kRunning; }

  /// Makes `body` for an answer of `bytes`, charged unless this is the call's loop, which takes one at a
  /// time. Fails when the answer is too large, or when there is no memory for it: that failure is the answer
  /// then. Any thread; throws std::bad_alloc.
  Status make_answer(std::size_t bytes, AnswerBody& body);
  /// Charges `charge` for a failure that is made on another thread than the call's loop, or shortens it if
  /// there is no memory for its text. Any thread.
  Status carry_failure(Status failure, AnswerBody& charge) const noexcept;
  /// Answers where nobody can suspend: it is sent, or while the connection's queue is over its high-water
  /// mark kept by the record, which counts against calls_in_flight_max as long. Lets go then.
  void answer_late(AnswerBody body);
  void fail_late(Status failure);
  /// Sets the failure that the caller of a delayed call gets if the handler ends without an answer; with
  /// `bad_arguments` it is that the body is not one of the method. Where it runs.
  void unless_answered(Status failure, bool bad_arguments = false) {
    late_failure_ = std::move(failure);
    bad_arguments_ = bad_arguments;
  }
  /// let_go() of a delayed call: the last one answers if nobody has.
  void let_go_unanswered();

  /// Runs the handler on a worker's thread: the outcome is kept, and publish() sends it from the loop.
  void run_off_loop();
  void publish();
  /// Replaces both: the call is not run. On its loop.
  void refuse_unrun(const Refusal& refusal);

  /// The handler, and a Reply that it was given, each hold the record; the last to let go frees it, and is
  /// told so by `true`.
  void hold() { ++holders_; }
  bool let_go();

  /// Any thread: the caller, or the connection, is gone.
  bool cancelled_anywhere() const { return cancelled_.load(std::memory_order_relaxed); }

  /// An answer may be encoded: the connection's queue is not over its high-water mark, or nobody listens.
  bool has_room() const noexcept { return sink_ == nullptr || sink_->has_room(); }
  /// Schedules `waiter` when there is room, or when the connection is gone. Called while has_room() is false.
  void when_room(RoomWaiter& waiter);
  /// Charges the call for an answer of `bytes` that is there and waits for room, until the call ends. Fails
  /// when there is no memory for it: the answer is to be dropped then, and the failure sent.
  Status keep_answer(std::size_t bytes) noexcept;
  class Room;

 private:
  enum class State : std::uint8_t { kRunning, kAnswered, kCancelled, kOrphaned };

  class Whole;

  void cancel(CancelReason reason);
  void conclude(State state = State::kAnswered);

  AnswerSink* sink_;
  CallsHost* host_;
  Loop* loop_;
  const MethodEntry* method_;
  std::uint64_t connection_id_;
  ServedRequest request_;
  /// Details in one block with the record if `is_whole_`, else the record's if there are any.
  ServedDetails* details_;
  std::unique_ptr<StreamSide> stream_;
  CancelScope scope_;
  CallContext context_{*this};
  Task<void> task_;
  Status late_failure_;
  std::uint32_t holders_ = 1;
  State state_ = State::kRunning;
  bool off_loop_ = false;
  bool bad_arguments_ = false;
  bool is_whole_;
  std::atomic<bool> cancelled_ = false;
};

class [[nodiscard]] ServedCall::Room : public RoomWaiter {
 public:
  explicit Room(ServedCall& call) : RoomWaiter(resumption_), call_(&call) {}
  bool await_ready() const noexcept { return call_->has_room(); }
  void await_suspend(std::coroutine_handle<> coroutine) {
    resumption_.handle = coroutine;
    call_->when_room(*this);
  }
  void await_resume() const noexcept {}

 private:
  ServedCall* call_;
  Resumption resumption_;
};

/// Charges `call` for a failure that is there and waits for room, until the call ends; where there is no
/// memory for its text the beginning of that is left.
Status keep_failure(ServedCall& call, Status failure) noexcept;
/// The same failure with the beginning of its text, so that its code is not lost for want of memory for that.
Status shortened(const Status& failure) noexcept;
/// Bytes that are charged for a failure: its text, unless that is short.
std::size_t charged_text(const Status& failure) noexcept;

/// Returns the chunk in which `call`'s request was received; an empty one when that is not kept.
inline const ChunkRef& request_chunk(const ServedCall& call) noexcept {
  return call.request().kept.chunk();
}

/// Awaited before an answer of `call` is encoded: suspends until has_room().
inline ServedCall::Room room_for(ServedCall& call) {
  return ServedCall::Room{call};
}

}  // namespace weft::detail
