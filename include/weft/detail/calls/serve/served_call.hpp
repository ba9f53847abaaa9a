// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/calls/serve/call_context.hpp"
#include "weft/detail/calls/serve/served_details.hpp"
#include "weft/detail/calls/stream/stream_side.hpp"
#include "weft/detail/calls/terms/answer_body.hpp"
#include "weft/detail/calls/terms/answer_sink.hpp"
#include "weft/detail/calls/terms/id_table_node.hpp"
#include "weft/detail/calls/terms/kept_body.hpp"
#include "weft/detail/calls/terms/running_limit.hpp"
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

/// Request of a call that is served with a record; the record keeps it.
struct ServedRequest {
  std::uint64_t id = 0;
  /// Bytes that stay until the record ends: the metadata, and the body after it unless the body is not kept.
  KeptBody kept{};
  /// The arguments; in `kept`, or valid only while the request is received.
  Bytes body{};
  Deadline deadline{};
  /// Bytes charged to its connection.
  std::size_t connection_charge = 0;
  /// Limit for the size of the answer, checked before it is encoded.
  std::uint32_t answer_bytes_max = 0;
  /// Size of the metadata, at the beginning of the kept bytes.
  std::uint32_t metadata_bytes = 0;
  /// Its place among the running calls of its method and of the server.
  RunningPlace place{};
  /// Time at which the whole request was received; only where calls are timed.
  TimePoint received{};
};

/// A request that outlives the receiving of its bytes: for a coroutine, a delayed reply, a worker, or a
/// handler that uses its CallContext. This operation record owns everything that the handler reads. It refers
/// to its connection (the sink) as long as that exists, and is freed when the answer was given and the
/// handler has ended.
///
///   kRunning --answer or failure--> kAnswered --last holder lets go--> (freed)
///   kRunning --the peer's cancel--> kCancelled --last holder lets go--> (freed), and the peer is notified
///   kRunning --connection lost----> kOrphaned --last holder lets go--> (freed); an answer is dropped
///
/// Thread: the connection's loop, except where stated.
class ServedCall : public ListHook<ServedCallTag>, public IdTableNode<ServedCall>, private Completion {
 public:
  /// Makes a record, together with its details if the call is known to need them or `has_details` is true.
  /// The call notifies `sink` by forget() when it no longer uses it; the other objects outlive the call.
  /// Throws std::bad_alloc.
  static ServedCall& make(AnswerSink& sink, CallsHost& host, Loop& loop, const MethodEntry& method,
                          ServedRequest&& request, Buffer attachment = {}, bool has_details = false);
  /// The same in place; `details` may be null, otherwise they outlive the record. A record that was not made
  /// by make() is destroyed by its creator, not by let_go().
  ServedCall(AnswerSink& sink, CallsHost& host, Loop& loop, const MethodEntry& method,
             ServedRequest&& request, ServedDetails* details = nullptr);
  ~ServedCall();
  static void* operator new(std::size_t size) { return detail::allocate_frame(size); }
  static void operator delete(void* block, std::size_t size) noexcept { detail::release_frame(block, size); }

  std::uint64_t id() const { return request_.id; }
  Bytes body() const { return request_.body; }
  CancelScope& scope() { return scope_; }
  CallContext& context() { return context_; }
  /// Returns the details; creates them on first use, where the handler runs. Throws std::bad_alloc.
  ServedDetails& details() {
    if (details_ == nullptr) [[unlikely]] {
      details_ = new ServedDetails(*this);
    }
    return *details_;
  }
  CallEnvelope& envelope() { return details().envelope; }
  /// Null when the call has no details.
  CallEnvelope* envelope_if_any() const { return details_ != nullptr ? &details_->envelope : nullptr; }
  /// Items of the call's stream; null without one.
  std::unique_ptr<StreamSide>& stream() { return stream_; }
  const MethodEntry& method() const { return *method_; }
  Loop& loop() const { return *loop_; }
  /// Null when the connection is gone.
  AnswerSink* sink() const { return sink_; }
  std::uint64_t connection_id() const { return connection_id_; }
  const ServedRequest& request() const { return request_; }
  /// Returns the time from the receipt of the request until a worker took it; zero for calls without a
  /// worker.
  Duration waited() const { return details_ != nullptr ? details_->waited : Duration::zero(); }

  /// Returns the time from which on an answer waited for room; zero if none did, or if the call has no
  /// details.
  TimePoint sending_since() const { return details_ != nullptr ? details_->sending_since : TimePoint{}; }

  /// Runs the handler, or hands the call to a worker. The record may be freed by this.
  void start();
  /// The peer cancelled the call: an answer is dropped. Instead, the end of the record is reported, so that
  /// the peer knows how many calls still run.
  void cancel_by_peer();
  /// The deadline has passed: the handler is cancelled.
  void on_deadline();
  /// The connection is gone.
  void orphan();

  /// Returns the pool of the chunks from which runs of the answer can be sent without a copy; null: it is
  /// written whole.
  ChunkPool* lending_chunks() const noexcept {
    return off_loop_ || sink_ == nullptr ? nullptr : sink_->lending_chunks();
  }
  /// Does as InlineCall::begin_answer(); null `lent`: the body is written whole.
  std::byte* begin_answer(std::size_t bytes, const RunsInChunk* lent = nullptr);
  void end_answer(const RunsInChunk* lent = nullptr);
  /// Replaces end_answer(), like InlineCall::take_back_answer().
  void take_back_answer(const std::byte* body);
  void fail(const Status& failure);
  /// Sends initial metadata that were not sent yet; with `trailing` the rest of the metadata too, once, in
  /// front of the answer. Call on the loop, before the answer.
  Status send_metadata(bool trailing);
  /// The body does not match the parameters of the method. Call where the handler runs.
  void refuse_arguments(const Status& failure);
  bool answered() const { return state_ != State::kRunning; }

  /// Allocates `body` for an answer of `bytes`; charged unless this is the call's loop, which handles one at
  /// a time. Fails when the answer is too large or memory is exhausted: that failure becomes the answer. Any
  /// thread; throws std::bad_alloc.
  Status make_answer(std::size_t bytes, AnswerBody& body);
  /// Charges `charge` for a failure made on a thread other than the call's loop, or shortens its text if
  /// there is no memory for it. Any thread.
  Status carry_failure(Status failure, AnswerBody& charge) const noexcept;
  /// Answers from a place that cannot suspend. The answer is sent; while the connection's queue is above its
  /// high-water mark the record keeps it, and counts against calls_in_flight_max meanwhile. Then lets go of
  /// the record.
  void answer_late(AnswerBody body);
  void fail_late(Status failure);
  /// Sets the failure that the caller of a delayed call gets if the handler ends without an answer; with
  /// `bad_arguments` the reason is that the body does not match the method. Call where the handler runs.
  void unless_answered(Status failure, bool bad_arguments = false) {
    late_failure_ = std::move(failure);
    bad_arguments_ = bad_arguments;
  }
  /// let_go() of a delayed call: the last holder answers it, unless it was answered before.
  void let_go_unanswered();

  /// Runs the handler on a worker thread and keeps the outcome; publish() sends it from the loop.
  void run_off_loop();
  void publish();
  /// Replaces both functions above: the call is not run. On its loop.
  void refuse_unrun(const Refusal& refusal);

  /// The handler, and the Reply given to it, each hold the record; the last holder frees it, and let_go()
  /// returns true then.
  void hold() { ++holders_; }
  bool let_go();

  /// Any thread: returns true if the caller or the connection is gone.
  bool cancelled_anywhere() const { return cancelled_.load(std::memory_order_relaxed); }

  /// Returns true if an answer may be encoded: the connection's queue is not above its high-water mark, or
  /// the connection is gone.
  bool has_room() const noexcept { return sink_ == nullptr || sink_->has_room(); }
  /// Schedules `waiter` when there is room, or when the connection is gone. Call only while has_room() is
  /// false.
  void when_room(RoomWaiter& waiter);
  /// Charges the call for an encoded answer of `bytes` that waits for room, until the call ends. Fails when
  /// memory is exhausted: the answer must be dropped then, and the failure sent.
  Status keep_answer(std::size_t bytes) noexcept;
  class Room;

 private:
  enum class State : std::uint8_t { kRunning, kAnswered, kCancelled, kOrphaned };

  class Whole;

  void cancel(CancelReason reason);
  void conclude(State state = State::kAnswered);
  void note_answered(std::uint64_t attached) noexcept;

  AnswerSink* sink_;
  CallsHost* host_;
  Loop* loop_;
  const MethodEntry* method_;
  std::uint64_t connection_id_;
  ServedRequest request_;
  /// Details in one block with the record if `is_whole_`, otherwise allocated separately, or null.
  ServedDetails* details_;
  std::unique_ptr<StreamSide> stream_;
  CancelScope scope_;
  CallContext context_{*this};
  Task<void> task_;
  Status late_failure_;
  std::uint32_t holders_ = 1;
  /// Size of the answer that was begun, without its attachment.
  std::uint32_t answer_bytes_ = 0;
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

/// Charges `call` for a failure that waits for room, until the call ends; without memory for its text only
/// the beginning of the text is kept.
Status keep_failure(ServedCall& call, Status failure) noexcept;
/// The same failure with only the beginning of its text, so that its code is not lost when memory for the
/// text is exhausted.
Status shortened(const Status& failure) noexcept;
/// Number of bytes charged for a failure: its text, unless that is short.
std::size_t charged_text(const Status& failure) noexcept;

/// Returns the chunk in which the request of `call` was received; empty when it is not kept.
inline const ChunkRef& request_chunk(const ServedCall& call) noexcept {
  return call.request().kept.chunk();
}

/// Awaited before an answer of `call` is encoded: suspends until has_room().
inline ServedCall::Room room_for(ServedCall& call) {
  return ServedCall::Room{call};
}

}  // namespace weft::detail
